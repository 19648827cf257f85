"""Engines of two checkouts in turns, batch by batch: `python tests/turns.py BEFORE AFTER [CASE ...]`.

Each checkout runs in a process of its own, with the same subscriptions and publications. They are given each batch in
turn, now the one first and now the other, so that a machine that is slow for a while is slow for both; and it is the
processor's time that counts, which other work beside it adds little to. Answers are compared by their number of rows.
Where an engine's arrays come to lie in memory changes its time by some per cent for as long as its process lives. So
each case is run by several pairs of processes, one pair after the other, with other publications. Printed is, for every
case, the median over these runs of their ratio, with the least and the greatest beside it. The ratio of a run is the
median over its batches of the time in AFTER divided by the time in BEFORE for the same batch. Both checkouts need only
what this Python has installed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

N_LIVE, BATCH, N_MEASURED, N_RUNS = 10_000, 500, 40, 5

# What runs in either checkout: it knows `skyband.open` and the verbs, which both have.
CHILD = """
import json, sys, time
import pyarrow.parquet as pq
import skyband
for line in sys.stdin:
    asked = json.loads(line)
    if "family" in asked:
        window = skyband.Window.count(asked["n_live"]) if asked["has_windows"] else None
        opened = {"window": window} | asked["options"]
        try:
            # The processor's time of two threads is more than that of one.
            engine = skyband.open(asked["family"], asked["engine"], threads=1, **opened)
        except ValueError:
            engine = skyband.open(asked["family"], asked["engine"], **opened)
        subscriptions, rows = pq.read_table(asked["subscriptions"]), pq.read_table(asked["publications"])
        engine.subscribe(subscriptions)
        print(json.dumps({"n": engine.n_subscriptions}), flush=True)
        continue
    batch = rows.slice(asked["first"], asked["n"])
    start = time.process_time_ns()
    changes = engine.publish(batch)
    taken = time.process_time_ns() - start
    print(json.dumps({"ns": taken, "n": changes.num_rows}), flush=True)
"""


class TurnCase(NamedTuple):
    """An engine with a workload for it."""

    family: str
    engine: str
    n_subscriptions: int
    workload: dict[str, Any]
    options: dict[str, Any]

    @property
    def label(self) -> str:
        more = ", ".join(f"{name}={value}" for name, value in (self.workload | self.options).items())
        return f"{self.family} {self.engine}, {self.n_subscriptions:,} subscriptions{', ' if more else ''}{more}"


def cases() -> list[TurnCase]:
    """Every engine of every family, with the scores that it has."""
    window = [
        TurnCase("window", engine, 10_000, {"score": score}, {})
        for score in ("euclidean", "chebyshev", "sum", "cosine")
        for engine in ("blocks", "tma", "sma", "cskyband", "skyband", "kmax", "sasf", "pa")
    ]
    window += [TurnCase("window", "scan", 1000, {"score": "mixed"}, {})]
    geotext = [TurnCase("geotext", engine, 10_000, {}, {}) for engine in ("blocks", "skype", "ciq")]
    ranges = [TurnCase("ranges", "scan", 1000, {}, {}), TurnCase("ranges", "paint", 10_000, {}, {})]
    ranked = [
        TurnCase("ranked", engine, n, {"dims": 4}, {"matching": matching, "k": 20})
        for engine, n in (("scan", 1000), ("scored", 100_000))
        for matching in ("relaxed", "exact")
    ]
    # Where a match takes so little, naming it is most of the rest.
    ranked += [TurnCase("ranked", "scored", 100_000, {"dims": 1}, {"k": 10})]
    return [*window, *geotext, TurnCase("geotext", "scan", 1000, {}, {}), *ranges, *ranked]


def generate(case: TurnCase, seed: int) -> tuple[pa.Table, pa.Table]:
    """The subscriptions and publications of a case, from this checkout's workloads."""
    from skyband.workload.recipe import recipe_of

    recipe, n = recipe_of(case.family), N_LIVE + (N_MEASURED + 2) * BATCH
    sizes = {
        "window": {"n_publications": n, "window_n": N_LIVE},
        "geotext": {"n_publications": n, "window_n": N_LIVE, "vocabulary": 5000},
        "ranges": {"n_objects": N_LIVE, "n_events": n - N_LIVE},
        "ranked": {"n_publications": n},
    }[case.family]
    made = recipe.generate(recipe.options(n_subscriptions=case.n_subscriptions, seed=seed, **sizes, **case.workload))
    return made.subscriptions, made.publications


class Side:
    """One checkout, in a process that waits for batches."""

    def __init__(self, checkout: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Have something done, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def race(case: TurnCase, sides: list[Side], folder: Path, seed: int) -> list[float]:
    """The ratios of all batches, the second side's time to the first's."""
    subscriptions, publications = generate(case, seed)
    paths = {
        "subscriptions": str(folder / "subscriptions.parquet"),
        "publications": str(folder / "publications.parquet"),
    }
    drops = [name for name in ("k",) if case.family == "ranked" and name in subscriptions.column_names]
    pq.write_table(subscriptions.drop_columns(drops), paths["subscriptions"])
    pq.write_table(publications, paths["publications"])
    has_windows = case.family in ("window", "geotext")
    for side in sides:
        side.ask(
            family=case.family,
            engine=case.engine,
            options=case.options,
            n_live=N_LIVE,
            has_windows=has_windows,
            **paths,
        )
        side.ask(first=0, n=N_LIVE)
    ratios, first = [], N_LIVE
    for turn in range(N_MEASURED + 2):
        order = sides if turn % 2 == 0 else sides[::-1]
        told = {id(side): side.ask(first=first, n=BATCH) for side in order}
        first += BATCH
        before, after = (told[id(side)] for side in sides)
        if before["n"] != after["n"]:
            raise SystemExit(f"{case.label}: {before['n']} changes before, {after['n']} after.")
        if turn > 1:
            ratios.append(after["ns"] / before["ns"])
    return ratios


def run(case: TurnCase, checkouts: list[Path], seed: int) -> float:
    """The ratio of one pair of processes."""
    sides = [Side(checkout) for checkout in checkouts]
    with tempfile.TemporaryDirectory() as folder:
        ratios = race(case, sides, Path(folder), seed)
    for side in sides:
        side.close()
    return statistics.median(ratios)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, metavar="AFTER")
    parser.add_argument("only", nargs="*", metavar="CASE", help="Only cases whose name has one of these in it.")
    parser.add_argument("--runs", type=int, default=N_RUNS, metavar="N", help="Pairs of processes (%(default)s).")
    asked = parser.parse_args()
    wanted = [case for case in cases() if not asked.only or any(part in case.label for part in asked.only)]
    for case in wanted:
        ratios = [run(case, [asked.before, asked.after], seed) for seed in range(asked.runs)]
        print(f"{statistics.median(ratios):6.3f}  ({min(ratios):.3f} to {max(ratios):.3f})  {case.label}", flush=True)


if __name__ == "__main__":
    main()
