"""`skyband cover` against every pair of boxes."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.boxes import box, covers, uncovered
from tests.blackbox.command import Commands
from tests.blackbox.draws import names
from tests.blackbox.files import FORMATS, read_rows, write_rows
from tests.blackbox.oracle import Row, vector

pytestmark = pytest.mark.jit_only

SEEDS = range(12)
DOMAINS: dict[str, tuple[float, float, bool] | None] = {
    "none": None,
    "-2:6": (-2.0, 6.0, False),
    "-2:6:integer": (-2.0, 6.0, True),
}


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """One warm process for all commands of this file."""
    folder = tmp_path_factory.mktemp("printed")
    running = Commands(folder)
    running.warm("cover", "cover", write_rows(folder / "boxes.ndjson", boxes(random.Random(0), 20, 2)), "--json")
    yield running
    running.close()


def boxes(rng: random.Random, n: int, dims: int) -> list[Row]:
    """Boxes with ends on few values, so that many are equal, empty inside, or open."""
    rows = []
    for name in names(rng, n):
        lo = [rng.choice([None, -math.inf, -2.0, -1.0, 0.5, 2.0]) for _ in range(dims)]
        hi = [rng.choice([None, math.inf, 2.0, 2.5, 5.0, 6.0]) for _ in range(dims)]
        rows.append({"id": name, "lo": lo, "hi": hi})
    return rows


def ends(row: Row, domain: tuple[float, float, bool] | None) -> Row:
    """A row as it is written: open where a range reaches an end of its domain."""
    low, high = (domain[0], domain[1]) if domain else (-math.inf, math.inf)
    ranges = box(row, domain) or []
    lo = [-math.inf if side[0] <= low else float(side[0]) for side in ranges]
    hi = [math.inf if side[1] >= high else float(side[1]) for side in ranges]
    return {"id": row["id"], "lo": lo, "hi": hi}


COVERING = tuple(f"src/skyband/{room}/" for room in ("kernels", "table", "contract", "covering", "cli"))
if_changed = pytest.mark.changed(*COVERING, "tests/blackbox/")


@pytest.mark.parametrize("search", ["corners", *(pytest.param(name, marks=if_changed) for name in ("jumps", "greedy"))])
def test_covers_equal_every_pair(commands: Commands, tmp_path: Path, search: str) -> None:
    for seed in SEEDS:
        rng = random.Random(f"cover {seed}")
        dims, name = rng.choice([1, 1, 2, 3]), rng.choice(list(DOMAINS))
        rows, queries = boxes(rng, rng.choice([1, 20, 150]), dims), boxes(rng, 20, dims)
        path = write_rows(tmp_path / f"boxes.{FORMATS[seed % 2 * 2]}", rows)
        out, relations = tmp_path / "out.parquet", tmp_path / "relations.parquet"
        options: list[object] = ["--search", search, "--out", out, "--relations", relations, "--json"]
        options += [] if DOMAINS[name] is None else [f"--domain={name}"]
        options += ["--bits", 3] if search == "greedy" else []
        commands.run("cover", path, *options).document()
        check(rows, DOMAINS[name], read_rows(out), read_rows(relations), search == "greedy")
        against = write_rows(tmp_path / "against.ndjson", queries)
        commands.run("cover", path, "--against", against, *options).document()
        check_against(rows, queries, DOMAINS[name], read_rows(out), read_rows(relations), search == "greedy")


def check(rows: list[Row], domain: Any, table: list[Row], relations: list[Row], may_miss: bool) -> None:
    """The routing table is right, and whoever is not in it hangs below one that is."""
    known = [box(row, domain) or [] for row in rows]
    wanted = [ends(rows[i], domain) for i in uncovered(known)]
    if may_miss:
        assert all(row in table for row in wanted)
    else:
        assert table == wanted
    by_id = {row["id"]: each for row, each in zip(rows, known, strict=True)}
    parents = {row["subscription"]: row["covered_by"] for row in relations}
    assert list(parents) == [row["id"] for row in rows]
    assert {name for name, parent in parents.items() if parent is None} == {row["id"] for row in table}
    for name, parent in parents.items():
        seen = {name}
        while parent is not None:
            assert covers(by_id[parent], by_id[name])
            assert parent not in seen
            seen.add(parent)
            parent = parents[parent]


def check_against(
    rows: list[Row], queries: list[Row], domain: Any, table: list[Row], relations: list[Row], may_miss: bool
) -> None:
    """Each query names an uncovered one that covers it, if there is any."""
    known = {row["id"]: box(row, domain) or [] for row in rows}
    inside = {row["id"] for row in table}
    for query, found in zip(queries, relations, strict=True):
        mine = box(query, domain) or []
        assert found["subscription"] == query["id"]
        if found["covered_by"] is None:
            assert may_miss or not any(covers(each, mine) for each in known.values())
        else:
            assert found["covered_by"] in inside
            assert covers(known[found["covered_by"]], mine)


def test_a_number_is_a_box_of_one_side(commands: Commands, tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "boxes.csv", [{"id": "a", "lo": 0.0, "hi": math.inf}, {"id": "b", "lo": 1.0, "hi": 1.0}]
    )
    commands.run("cover", path, "--out", tmp_path / "out.csv", "--json").document()
    assert [vector(row["id"]) for row in read_rows(tmp_path / "out.csv")] == [["a"]]
