"""The cover set against the oracle, which looks at every pair."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import UnreadableSnapshot
from skyband.contract.tops import Id
from skyband.covering.coverset import CoverSet
from skyband.covering.grid import Domain
from skyband.covering.oracle import CoverOracle
from skyband.covering.rows import parse_subscriptions
from skyband.table import Rejected, Settings
from tests.choosing import places_of_tests

INTEGERS = Domain(0, 7, integer=True)
EXACT: dict[str, dict[str, Any]] = {
    "corners": {},
    "corners, coarse": {"bits": 2},
    "corners, z": {"curve": "z"},
    "corners, integers": {"domains": INTEGERS, "bits": 3},
    "jumps": {"search": "jumps"},
    "jumps, coarse": {"search": "jumps", "bits": 2},
    "greedy, integers": {"search": "greedy", "domains": INTEGERS, "bits": 3},
}
APPROXIMATE: dict[str, dict[str, Any]] = {
    "greedy, integers": {"search": "greedy", "epsilon": 0.3, "domains": INTEGERS, "bits": 3},
    "greedy, real": {"search": "greedy", "epsilon": 0.1, "domains": [Domain(0.0, 7.0), Domain()], "bits": 3},
    "greedy, fitted": {"search": "greedy", "bits": 3},
}


def boxes(random: np.random.Generator, n: int, start: int, grid: int = 7) -> list[dict[str, Any]]:
    """Boxes with sides in common, zero-area ones, equal ones, one-sided and unconstrained ranges."""
    ends = np.sort(random.integers(0, grid + 1, (n, 2, 2)), axis=2).astype(float)
    narrow = random.random((n, 2)) < 0.3
    ends[narrow, 1] = ends[narrow, 0]
    ends[random.random((n, 2)) < 0.1, 0] = -np.inf
    ends[random.random((n, 2)) < 0.1, 1] = np.inf
    rows = [{"id": start + i, "lo": pair[:, 0].tolist(), "hi": pair[:, 1].tolist()} for i, pair in enumerate(ends)]
    for i in range(1, n, 7):
        rows[i] |= {name: rows[i - 1][name] for name in ("lo", "hi")}
    return rows


class Twins:
    """A cover set and the oracle, which are given the same."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.cover = CoverSet(**options)
        self.oracle = CoverOracle()
        given = options.get("domains", Domain())
        self.domains = [given, given] if isinstance(given, Domain) else given

    def _parsed(self, rows: list[dict[str, Any]]) -> Any:
        table = pa.Table.from_pylist(
            rows, pa.schema([("id", pa.int64())] + [(s, pa.list_(pa.float64())) for s in ("lo", "hi")])
        )
        parsed = parse_subscriptions(table, Settings(dims=2)).rows
        # Within the domain a range that reaches its end is an open one.
        low, high = (np.array([getattr(domain, end) for domain in self.domains]) for end in ("low", "high"))
        lo, hi = np.where(parsed.lo <= low, -np.inf, parsed.lo), np.where(parsed.hi >= high, np.inf, parsed.hi)
        return parsed._replace(lo=lo, hi=hi)

    def add(self, rows: list[dict[str, Any]]) -> tuple[pa.Table, set[Id]]:
        """What the set tells, and which earlier ones are newly covered by the oracle's account."""
        before = set(self.oracle.uncovered())
        self.oracle.add(self._parsed(rows))
        return self.cover.add(rows), before - set(self.oracle.uncovered())

    def remove(self, ids: list[int]) -> tuple[list[Id], list[Id]]:
        """The promoted ones, by the set and by the oracle."""
        before = set(self.oracle.uncovered())
        for id in ids:
            self.oracle.remove(id)
        return self.cover.remove(ids)["subscription"].to_pylist(), [
            id for id in self.oracle.uncovered() if id not in before
        ]

    @property
    def uncovered(self) -> list[Id]:
        return list(self.cover.uncovered()["id"].to_pylist())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", EXACT.values(), ids=EXACT)
def test_exact_sets_are_the_oracles(options: dict[str, Any], seed: int) -> None:
    random, twins, n_added = np.random.default_rng(seed), Twins(options), 0
    alive: list[int] = []
    for _ in range(12):
        rows = boxes(random, int(random.integers(0, 25)), n_added)
        n_added += len(rows)
        told, demoted = twins.add(rows)
        alive += [row["id"] for row in rows]
        assert told["subscription"].to_pylist() == [row["id"] for row in rows]
        assert {id for ids in told["now_covers"].to_pylist() for id in ids} == demoted
        uncovered = set(twins.uncovered)
        for id, by in zip(told["subscription"].to_pylist(), told["covered_by"].to_pylist(), strict=True):
            assert (by is None) == (id in uncovered)
            assert by is None or (by in uncovered and by in twins.oracle.covering(id))
        gone = [
            alive.pop(int(random.integers(len(alive)))) for _ in range(int(random.integers(0, len(alive) // 2 + 1)))
        ]
        promoted, expected = twins.remove(gone)
        assert promoted == expected
        assert twins.uncovered == twins.oracle.uncovered()
        twins.cover.check()
    assert twins.cover.counters[{"corners": "nodes", "jumps": "leaves", "greedy": "probes"}[twins.cover.search]] > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", APPROXIMATE.values(), ids=APPROXIMATE)
def test_approximate_sets_never_claim_a_false_covering(options: dict[str, Any], seed: int) -> None:
    """What nothing covers is uncovered; what hangs below another is covered by it; answers add up to the table."""
    random, twins, table = np.random.default_rng(seed), Twins(options), set[Id]()
    alive: list[int] = []
    for step in range(6):
        rows = boxes(random, 20, 20 * step)
        told, _ = twins.add(rows)
        alive += [row["id"] for row in rows]
        for row in told.to_pylist():
            table |= {row["subscription"]} if row["covered_by"] is None else set()
            table -= set(row["now_covers"])
        gone = [alive.pop(int(random.integers(len(alive)))) for _ in range(8)]
        promoted, _ = twins.remove(gone)
        table = table - set(gone) | set(promoted)
        assert table == set(twins.uncovered)
        # Of equal ones any may stand for the others.
        for id in set(twins.oracle.uncovered()) - table:
            assert any(other in table and id in twins.oracle.covering(other) for other in twins.oracle.covering(id))
        for row in twins.cover.covered_by().to_pylist():
            assert row["covered_by"] is None or row["covered_by"] in twins.oracle.covering(row["subscription"])
        twins.cover.check()


def test_find_asks_without_adding() -> None:
    cover = CoverSet()
    ask = [{"id": "x", "lo": [1.0], "hi": [2.0]}, {"id": "y", "lo": [1.0], "hi": [9.0]}]
    assert cover.find(ask)["covered_by"].to_pylist() == [None, None]
    cover.add([{"id": "a", "lo": [0.0], "hi": [5.0]}])
    assert cover.find(ask).to_pylist() == [
        {"subscription": "x", "covered_by": "a"},
        {"subscription": "y", "covered_by": None},
    ]
    assert len(cover) == cover.n_uncovered == 1
    assert cover.find([]).num_rows == 0


def test_one_batch_ends_as_many_do() -> None:
    rows = boxes(np.random.default_rng(5), 300, 0)
    one, many = CoverSet(), CoverSet()
    one.add(rows)
    for row in rows:
        many.add([row])
    assert one.uncovered() == many.uncovered()


def test_ids_may_be_any_text_and_are_free_again() -> None:
    cover = CoverSet()
    for _ in range(3):
        told = cover.add([{"id": "käse 🧀", "lo": [0.0], "hi": [5.0]}, {"id": "", "lo": [1.0], "hi": [1.0]}])
        assert told["covered_by"].to_pylist() == [None, "käse 🧀"]
        assert cover.remove(["käse 🧀"])["subscription"].to_pylist() == [""]
        assert cover.remove([""]).num_rows == 0
        cover.check()
    assert cover.memory().keys() == {"ids", "forest", "points", "curve"}
    assert len(cover) == 0


def test_an_empty_set_answers() -> None:
    cover = CoverSet()
    cover.check()
    assert cover.add([]).num_rows == cover.uncovered().num_rows == cover.covered_by().num_rows == 0
    assert cover.remove([]).num_rows == 0


@pytest.mark.parametrize(
    "options", [*EXACT.values(), *APPROXIMATE.values()], ids=[*EXACT, *(f"~ {n}" for n in APPROXIMATE)]
)
def test_a_restored_set_goes_on_as_if_nothing_had_happened(options: dict[str, Any], tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    cover = CoverSet(**options)
    cover.snapshot(tmp_path / "empty")
    assert len(skyband.restore(tmp_path / "empty")) == 0
    cover.add(boxes(random, 80, 0))
    cover.remove(list(range(0, 80, 3)))
    cover.snapshot(tmp_path / "some")
    twin = skyband.restore(tmp_path / "some")
    twin.check()
    assert isinstance(twin, CoverSet)
    assert twin.covered_by() == cover.covered_by()
    assert twin.uncovered() == cover.uncovered()
    assert twin.counters == cover.counters
    later = boxes(random, 40, 100)
    if cover.search != "greedy" or options.get("domains") == INTEGERS:
        # A fitted grid is fitted anew by a restored set, so that an approximate search may find others.
        for each in (cover, twin):
            each.add(later)
            each.remove([1, 4, 100])
        assert twin.uncovered() == cover.uncovered()
    before = twin.counters
    twin.find(later)
    assert all(twin.counters[name] >= n for name, n in before.items())
    assert sum(twin.counters.values()) > sum(before.values()) + len(later)
    with pytest.raises(FileExistsError, match="exists already"):
        cover.snapshot(tmp_path / "some")
    with pytest.raises(UnreadableSnapshot, match="no readable snapshot"):
        CoverSet.restore(tmp_path)


def test_bad_rows_are_named_and_change_nothing() -> None:
    cover = CoverSet(domains=Domain(0, 10, integer=True))
    cover.add([{"id": 1, "lo": [1, 1], "hi": [2, 2]}])
    bad = [
        {"id": 1, "lo": [0, 0], "hi": [1, 1]},
        {"id": 2, "lo": [3, 0], "hi": [2, 1]},
        {"id": 3, "lo": [0.2, 0], "hi": [0.8, 1]},
        {"id": 4, "lo": [11, 0], "hi": [12, 1]},
        {"id": 5, "lo": [0, 0], "hi": [float("nan"), 1]},
    ]
    with pytest.raises(Rejected) as error:
        cover.add([*bad, {"id": 6, "lo": [0, 0], "hi": [9, 9]}])
    assert len(error.value.rejects) == 5
    assert "no message can match it" in error.value.rejects[3].reason
    assert len(cover) == 1
    cover.on_error = "collect"
    assert cover.add([*bad, {"id": 6, "lo": [0, 0], "hi": [9, 9]}])["now_covers"].to_pylist() == [[1]]
    assert [reject.row for reject in cover.rejects] == [1, 2, 3, 4, 5]
    assert cover.remove([1, 7, 1]).num_rows == 0
    assert cover.find(bad)["covered_by"].to_pylist() == [6]
    assert cover.counters["rejected"] == 5 + 5 + 2 + 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "hilbert"}, "search is corners, jumps or greedy, not 'hilbert'"),
        ({"epsilon": 0.1}, "corners is exact"),
        ({"curve": "peano"}, "curve is z or hilbert, not 'peano'"),
        ({"search": "jumps", "curve": "hilbert"}, "along the Z curve"),
        ({"search": "greedy", "epsilon": 1.0}, "epsilon is a number of at least 0 and below 1"),
        ({"search": "greedy", "epsilon": float("nan")}, "epsilon is a number of at least 0 and below 1"),
        ({"domains": Domain(3, 3)}, "from a lower to a higher"),
        ({"domains": (0, 1)}, r"takes a skyband.Domain\(low, high\)"),
        ({"bits": "16"}, "bits is an integer of at least 1, not '16'"),
        ({"domains": [Domain(integer=True)]}, "from one integer to another"),
        ({"on_error": "ignore"}, "on_error is raise or collect, not 'ignore'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CoverSet(**options)


def test_covering_is_no_family_of_engines() -> None:
    with pytest.raises(ValueError, match="CoverSet"):
        skyband.open("covering")


@pytest.mark.parametrize(
    ("options", "dims", "words"),
    [
        ({}, 17, "up to 16 attributes, not 17"),
        ({"bits": 17}, 8, "bits must be 2 to 16"),
        ({"bits": 1}, 1, "bits must be 2 to 32"),
        ({"domains": [Domain()]}, 2, "1 domains, and the subscriptions have 2 attributes"),
    ],
)
def test_options_that_do_not_fit_the_attributes_change_nothing(options: dict[str, Any], dims: int, words: str) -> None:
    cover = CoverSet(**options)
    with pytest.raises(ValueError, match=words):
        cover.add([{"id": 1, "lo": [0.0] * dims, "hi": [1.0] * dims}])
    assert len(cover) == 0
    cover.check()


BY_PLACE = pytest.mark.changed(*places_of_tests("tests/covering/test_coverset.py"))


# Each length of keys is compiled for itself.
@pytest.mark.parametrize(
    ("attributes", "bits"),
    [(1, 32), pytest.param(8, 16, marks=BY_PLACE), pytest.param(4, 32, marks=BY_PLACE), (16, 8)],
)
def test_keys_have_up_to_256_bits(attributes: int, bits: int) -> None:
    random = np.random.default_rng(attributes)
    centres, widths = random.random((90, attributes)), random.random((90, 1)) ** 2
    rows = [
        {"id": i, "lo": (c - w).tolist(), "hi": (c + w).tolist()}
        for i, (c, w) in enumerate(zip(centres, widths, strict=True))
    ]
    cover, oracle = CoverSet(bits=bits), CoverOracle()
    cover.add(rows)
    oracle.add(parse_subscriptions(pa.Table.from_pylist(rows), Settings()).rows)
    assert cover.uncovered()["id"].to_pylist() == oracle.uncovered()
    cover.check()


def test_a_set_that_shrinks_packs_its_curve() -> None:
    rows = [{"id": i, "lo": [float(i), -float(i)], "hi": [float(i), -float(i)]} for i in range(3000)]
    cover = CoverSet()
    cover.add(rows)
    before = cover.memory()["curve"]
    cover.add([{"id": -1, "lo": [100.0, -2999.0], "hi": [2999.0, -100.0]}])
    assert cover.n_uncovered == 101
    assert cover.memory()["curve"] < before / 8
    cover.remove([-1])
    assert cover.n_uncovered == 3000
    cover.remove(list(range(2990)))
    cover.check()
    assert cover.n_uncovered == 10
    assert cover.memory()["curve"] < before / 8
