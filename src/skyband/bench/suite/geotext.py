"""The engines of the geotext family side by side, over growing numbers of subscriptions: Scan, CIQ, Skype and ours.

All of them are in memory and take turns, by batch and by publication; those that would take too long are left out.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.machine import free_memory
from skyband.bench.paper import parameter
from skyband.bench.places import Corpus
from skyband.bench.race import SCAN, Setting, contest, left_out
from skyband.bench.row import Row, number
from skyband.bench.skype import (
    ALL,
    ARRIVAL,
    CIQ,
    ENGINE,
    EXPIRY,
    INDEX_EACH,
    LENGTH,
    OURS,
    SEARCHES,
    SKYPE,
    SUBSCRIPTIONS,
    beside_first,
    index_each,
    shown,
    total_bytes,
)
from skyband.bench.sweep import Spent, reluctance

ENTRANTS = (SCAN, CIQ, SKYPE, OURS)
ALL_AT_ONCE = 4
# What indexes count of what their bounds have saved.
BOUNDS = ("cells", "groups", "terminated", "prefix", "unseen", "blocks skipped")


class Plan(NamedTuple):
    """How large a run is; `patience` is in seconds for each warm-up, `budget` for all of an engine at one size."""

    sizes: tuple[int, ...]
    n_live: int
    n_warm: int
    n_rounds: int
    batch: int = 1000
    shrink: int = 1
    k: int = 20
    patience: float = 1e9
    budget: float = 1e9

    def setting(self, n: int) -> Setting:
        """What engines are given at a size."""
        return Setting(
            Corpus("tweets", self.shrink),
            n,
            self.n_live,
            self.n_warm,
            self.batch,
            self.n_rounds,
            self.k,
            granularities=("batch", "publication"),
            patience=self.patience,
        )


PLANS: dict[Size, Plan] = {
    "toy": Plan((10, 20), n_live=30, n_warm=10, n_rounds=2, batch=10, shrink=10_000, k=3),
    "small": Plan((10_000, 100_000), n_live=100_000, n_warm=20_000, n_rounds=5, patience=15.0),
    "full": Plan(
        (10_000, 100_000, 1_000_000, 5_000_000),
        n_live=1_000_000,
        n_warm=100_000,
        n_rounds=20,
        patience=300.0,
        budget=3600.0,
    ),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions."""
    plan, spent = PLANS[size], {each.label: list[Spent]() for each in ENTRANTS}
    # Lets every engine compile what it needs, which would use up the patience with a warm-up.
    list(contest(PLANS["toy"].setting(4), ENTRANTS, ALL_AT_ONCE, "compiling", progress))
    for n in plan.sizes:
        setting, label, able = plan.setting(n), f"{n:,} subscriptions", []
        for each in ENTRANTS:
            reason = reluctance(n, spent[each.label], plan.budget, free_memory())
            if reason is None:
                able.append(each)
            else:
                progress(f"{label}: {each.label}: {reason}")
                yield from left_out(setting, [each], label, reason)
        rows = list(contest(setting, able, ALL_AT_ONCE, label, progress)) if able else []
        yield from _beside_skype(rows)
        for each in able:
            spent[each.label].append(_spent(n, [row for row in rows if row["algorithm"] == each.label]))


def _beside_skype(rows: list[Row]) -> list[Row]:
    """The rows, each with what Skype took beside it."""
    took = {_by(row): row["measures"]["all_us"] for row in rows if row["algorithm"] == SKYPE.label}
    for row in rows:
        row["measures"] |= {"skype.all_us": took[_by(row)]} if took else {}
    return rows


def _spent(n: int, rows: list[Row]) -> Spent:
    """What an engine took at a size, until it was ready and while it was timed."""
    timed = sum(sum(row["latencies"]) for row in rows) / 1e9
    return Spent(n, rows[0]["measures"]["ready_s"] + timed, total_bytes(rows[0]))


def _by(row: Row) -> str:
    return str(row["parameters"]["granularity"])


def _each_second(row: Row) -> float:
    return 1e6 / float(row["measures"]["all_us"])


def _beside(row: Row, first: Row) -> str:
    beside = row["measures"].get("skype.all_us")
    return f"{row['measures']['all_us'] / beside:.3g}" if beside else ""


def _verified(row: Row, first: Row) -> str:
    """How many pairs were scored in full for each that was within its bound."""
    found = row["measures"]
    return number(found["index.verified"] / found["index.accepted"]) if found.get("index.accepted") else ""


def _pruned(row: Row, first: Row) -> str:
    found = [(bound, row["measures"].get(f"index.{bound}", 0.0)) for bound in BOUNDS]
    return ", ".join(f"{bound} {number(n)}" for bound, n in found if n)


def _plot(name: str, what: str, y: Callable[[Row], float], *, indexed: bool = False) -> Plot:
    return Plot(
        name,
        f"{what[0].upper()}{what[1:]}, tweets",
        "n_subscriptions",
        "subscriptions",
        y,
        what,
        lambda row: f"{row['algorithm']}, by {_by(row)}",
        lambda row: not (indexed and row["algorithm"] == SCAN.label),
    )


BENCHMARK = Benchmark(
    name="geotext",
    summary="Scan, CIQ with kmax, Skype and ours for the geotext family, over growing numbers of subscriptions.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        ENGINE,
        parameter("granularity", "granularity"),
        Column("messages a second", lambda row, first: number(_each_second(row))),
        ARRIVAL,
        EXPIRY,
        ALL,
        beside_first("all_us"),
        Column("ratio to skype", _beside),
        shown("candidates a message", "index.accepted"),
        Column("verified for a candidate", _verified),
        Column("pruned a message", _pruned),
        shown("changes a message", "changes"),
        SEARCHES,
        INDEX_EACH,
        LENGTH,
        Column("warmed up by", lambda row, first: f"{row['measures']['warmed']:,.0f}"),
    ),
    plots=(
        _plot("rate", "messages a second", _each_second),
        _plot("memory", "bytes of index for a subscription", index_each, indexed=True),
    ),
)
