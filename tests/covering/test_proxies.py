"""Proxies: who is uncovered, against looking at every pair, while regions come, leave and move."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.contract.tops import Id
from skyband.covering.proxies import Cover, Moved, ProxySet
from skyband.covering.region import (
    Box,
    Kind,
    Regions,
    contains,
    make_regions,
    open_thresholds,
    range_regions,
    take,
    whole_space,
)
from skyband.kernels.array import Floats
from skyband.topk.score import euclidean

# Caps are of places alone, see tests/window/test_geodesic.py.
FLAT: list[Kind] = [kind for kind in Kind if kind != Kind.CAP]
MIXTURES: dict[str, list[Kind]] = {
    "balls": [Kind.BALL],
    "boxes": [Kind.BOX],
    "ranges": [Kind.RANGE],
    "closed": [Kind.BALL, Kind.BOX, Kind.RANGE],
    "linear": [Kind.HALF_SPACE, Kind.CONE],
    "all": FLAT,
}


class Twin:
    """All regions in a dictionary, in order of arrival."""

    def __init__(self, domain: Box | None) -> None:
        self.domain = domain
        self.regions: dict[Id, Regions] = {}

    def contains(self, a: Id, b: Id) -> bool:
        row = np.array([0])
        return bool(contains(self.regions[a], row, self.regions[b], row, self.domain)[0])

    def uncovered(self) -> list[Id]:
        """Those that no other one contains, unless they contain each other and the other came later."""
        ids = list(self.regions)
        n = len(ids)
        every = Regions(*(np.concatenate(parts) for parts in zip(*self.regions.values(), strict=True)))
        a, b = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
        inside = contains(every, a, every, b, self.domain).reshape(n, n)
        earlier = np.arange(n)[:, None] < np.arange(n)
        covered = (inside & (~inside.T | earlier) & ~np.eye(n, dtype=np.bool_)).any(axis=0)
        return [id for id, hidden in zip(ids, np.asarray(covered), strict=True) if not hidden]


def draw(kinds: list[Kind], random: np.random.Generator, n: int, dims: int) -> Regions:
    """Few numbers, so that many are the same and many cover others; some are open, and some empty."""
    points = random.integers(-2, 3, (n, dims)).astype(np.float64)
    weights = random.choice([0.0, 0.5, 1.0, 2.0], (n, dims), p=[0.1, 0.2, 0.5, 0.2])
    chosen = np.array(random.choice(kinds, n), np.int8)
    beyond = points + random.integers(0, 3, (n, dims))
    weights = np.where((chosen == Kind.RANGE)[:, None], beyond, weights)
    return make_regions(chosen, points, weights, draw_thresholds(chosen, random))


def draw_thresholds(kinds: npt.NDArray[np.int8], random: np.random.Generator) -> Floats:
    n = len(kinds)
    limits = np.where(kinds == Kind.CONE, random.integers(-3, 4, n) / 3, random.integers(0, 6, n) / 2)
    limits = np.where(random.random(n) < 0.01, open_thresholds(kinds), limits)
    return np.where(random.random(n) < 0.01, -open_thresholds(kinds), limits)


class Pair:
    """A proxy set and its twin, given the same to do."""

    def __init__(self, kinds: list[Kind], seed: int, dims: int, domain: Box | None = None, exact: bool = True) -> None:
        self.kinds, self.dims, self.exact = kinds, dims, exact
        self.random = np.random.default_rng(seed)
        self.proxies, self.twin = ProxySet(dims, domain), Twin(domain)
        self.n_ids = 0
        self.before: list[Id] = []

    def choose(self, most: int) -> list[Id]:
        ids = list(self.twin.regions)
        n = int(self.random.integers(0, most + 1))
        return [ids[i] for i in self.random.choice(len(ids), min(n, len(ids)), replace=False)]

    def add(self) -> None:
        regions = draw(self.kinds, self.random, int(self.random.integers(1, 4)), self.dims)
        for row in range(len(regions.kinds)):
            id, self.n_ids = self.n_ids, self.n_ids + 1
            self.twin.regions[id] = take(regions, np.array([row]))
            cover = self.proxies.add([id], self.twin.regions[id])[0]
            self.assert_cover(id, cover)

    def assert_cover(self, id: Id, cover: Cover) -> None:
        after = self.proxies.uncovered()
        assert (cover.covered_by is None) == (id in after)
        if cover.covered_by is not None:
            assert cover.covered_by in self.before
            assert self.twin.contains(cover.covered_by, id)
        assert cover.now_covers == [other for other in self.before if other not in after]
        self.before = after

    def remove(self) -> None:
        gone = self.choose(3)
        for id in gone:
            del self.twin.regions[id]
        promoted = self.proxies.remove(gone)
        after = self.proxies.uncovered()
        assert promoted == [id for id in after if id not in self.before]
        self.before = after

    def move(self) -> None:
        ids = self.choose(4)
        kinds = np.array([self.twin.regions[id].kinds[0] for id in ids], np.int8)
        limits = draw_thresholds(kinds, self.random)
        for id, limit in zip(ids, limits, strict=True):
            self.twin.regions[id] = self.twin.regions[id]._replace(thresholds=np.array([limit]))
        moved = self.proxies.move(ids, limits)
        after = self.proxies.uncovered()
        # Those covered now are told in order of arrival too, as uncovered ones are.
        gone = [id for id in self.before if id not in after]
        assert moved == Moved([id for id in after if id not in self.before], gone)
        self.before = after

    def check(self) -> None:
        self.proxies.check()
        assert len(self.proxies) == len(self.twin.regions)
        if self.twin.regions and self.exact:
            assert self.before == self.twin.uncovered()

    def run(self, n_steps: int) -> None:
        for _ in range(n_steps):
            action = self.random.random()
            if action < 0.4 or len(self.twin.regions) < 4:
                self.add()
            elif action < 0.6:
                self.remove()
            else:
                self.move()
            self.check()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mixture", MIXTURES)
def test_random_actions(mixture: str, seed: int) -> None:
    Pair(MIXTURES[mixture], seed, dims=1 + seed).run(60)


@pytest.mark.parametrize("seed", range(3))
def test_random_actions_in_a_domain(seed: int) -> None:
    """Tests of clipped shapes differ in how close they are, so the uncovered ones may depend on the order of events."""
    domain = Box(np.full(2, -2.0), np.full(2, 3.0))
    Pair(FLAT, seed, 2, domain, exact=False).run(60)
    Pair([Kind.BOX, Kind.RANGE], seed, 2, domain).run(60)


@pytest.mark.parametrize("seed", range(2))
def test_roots_stand_for_all(seed: int) -> None:
    """A publication that somebody is interested in, an uncovered one is interested in."""
    random = np.random.default_rng(seed)
    n = 60
    points, limits = random.random((n, 2)), random.random(n) / 2
    domain = Box(np.zeros(2), np.ones(2))
    proxies = ProxySet(2, domain)
    covers = proxies.add([str(i) for i in range(n)], make_regions(Kind.BALL, points, 1.0, limits))
    for _ in range(20):
        moved = random.choice(n, 5, replace=False)
        limits[moved] = random.random(5) / 2
        proxies.move([str(i) for i in moved], limits[moved])
    proxies.check()
    publications = random.random((500, 2))
    near = np.sqrt(((publications[:, None] - points) ** 2).sum(axis=2)) <= limits
    roots = [int(id) for id in proxies.uncovered()]
    assert 0 < len(roots) < n
    assert any(cover.covered_by is not None for cover in covers)
    assert (near.any(axis=1) == near[:, roots].any(axis=1)).all()


def balls(*radii: float) -> Regions:
    return make_regions(Kind.BALL, np.zeros((len(radii), 2)), 1.0, radii)


def test_one_after_the_other() -> None:
    proxies = ProxySet(2)
    assert proxies.add(["a", "b", "c", "d"], balls(2.0, 1.0, 2.0, 3.0)) == [
        Cover(None, []),
        Cover("a", []),
        Cover("a", []),
        Cover(None, ["a"]),
    ]
    assert proxies.uncovered() == ["d"]
    assert proxies.covered_by("b") == "a"
    assert proxies.covered_by("d") is None
    assert proxies.remove(["d"]) == ["a"]
    assert proxies.remove(["a"]) == ["c"]
    assert proxies.move(["b"], [4.0]) == Moved(["b"], ["c"])
    assert proxies.move(["b"], 2.0) == Moved([], [])
    assert proxies.move(["c"], np.inf) == Moved(["c"], ["b"])
    assert proxies.remove(["b", "c"]) == []
    assert proxies.uncovered() == []
    proxies.check()


def test_the_earlier_of_equal_ones_stays() -> None:
    """Also when it moved to where the later one is."""
    proxies = ProxySet(2)
    proxies.add(["a", "b"], balls(1.0, 2.0))
    assert proxies.uncovered() == ["b"]
    assert proxies.move(["a"], 2.0) == Moved(["a"], ["b"])
    everything, nothing = range_regions([[-np.inf] * 2], [[np.inf] * 2]), balls(-1.0)
    assert proxies.add(["c"], everything) == [Cover(None, ["a"])]
    assert proxies.add(["d"], balls(np.inf)) == [Cover("c", [])]
    assert proxies.add(["e"], nothing) == [Cover("c", [])]
    assert proxies.remove(["c"]) == ["d"]
    assert proxies.remove(["a", "b", "d"]) == ["e"]
    proxies.check()


def test_children_of_a_covered_one_are_handed_on_if_the_test_holds() -> None:
    """A ball in a half-space in a ball: clipped by the domain, the two balls may not be seen as nested."""
    domain = Box(np.zeros(2), np.ones(2))
    proxies = ProxySet(2, domain)
    half = make_regions(Kind.HALF_SPACE, [[1.0, 1.0]], 1.0, [1.6])
    proxies.add(["ball"], make_regions(Kind.BALL, [[1.7, 1.7]], 1.0, [0.75]))
    proxies.add(["half"], half)
    proxies.add(["around"], make_regions(Kind.BALL, [[1.0, 1.0]], 1.0, [0.6]))
    proxies.check()
    proxies.remove(["half"])
    proxies.check()
    proxies.remove(["around"])
    assert proxies.uncovered() == ["ball"]


def test_what_does_not_fit() -> None:
    proxies = ProxySet(2)
    proxies.add(["a"], balls(1.0))
    with pytest.raises(ValueError, match="already registered"):
        proxies.add(["a"], balls(1.0))
    with pytest.raises(ValueError, match="already registered"):
        proxies.add(["b", "b"], balls(1.0, 2.0))
    with pytest.raises(ValueError, match="a region of 2 dimensions for each of the 2"):
        proxies.add(["b", "c"], balls(1.0))
    with pytest.raises(ValueError, match="named twice"):
        proxies.remove(["a", "a"])
    with pytest.raises(ValueError, match="must be a number"):
        proxies.move(["a"], np.nan)
    with pytest.raises(ValueError, match="not registered"):
        proxies.remove(["z"])
    assert proxies.uncovered() == ["a"]
    proxies.check()


def test_empty_and_memory() -> None:
    proxies = ProxySet(3, whole_space(3))
    assert proxies.add([], make_regions(Kind.BALL, np.zeros((0, 3)), 1.0, np.zeros(0))) == []
    assert proxies.remove([]) == []
    assert proxies.move([], []) == Moved([], [])
    assert proxies.uncovered() == []
    proxies.check()
    assert proxies.memory() == 0
    proxies.add(list(range(50)), make_regions(Kind.BALL, np.arange(150.0).reshape(50, 3), 1.0, 1.0))
    assert proxies.memory() > 50 * 100


def balls_of(engine: AnyEngine, places: dict[Id, list[float]], at: int) -> Regions:
    return make_regions(Kind.BALL, list(places.values()), 1.0, engine.gates(list(places), at=at)["gate"])


def told_through_proxies(places: dict[Id, list[float]], ks: dict[Id, int], rows: list[dict[str, Any]]) -> list[Any]:
    """What an engine tells behind a filter that knows the uncovered proxies alone and keeps what they refuse."""
    engine = skyband.open("window", "blocks", window=skyband.Window.time(100))
    engine.subscribe([{"id": id, "k": ks[id], "score": "euclidean", "point": places[id]} for id in places])
    proxies, held, told = ProxySet(dims=2), list[dict[str, Any]](), []
    proxies.add(list(places), balls_of(engine, places, rows[0]["ts"]))
    for row in rows:
        gates = engine.gates(at=row["ts"])
        proxies.move(gates["subscription"].to_pylist(), gates["gate"])
        known = dict(zip(gates["subscription"].to_pylist(), gates["gate"].to_pylist(), strict=True))
        held = [one for one in [*held, row] if one["ts"] > row["ts"] - 100]
        good = [
            one for one in held if any(euclidean(places[id], one["point"]) <= known[id] for id in proxies.uncovered())
        ]
        held = [one for one in held if one not in good]
        told += engine.publish(good).to_pylist() + engine.advance(row["ts"]).to_pylist()
    return told


def told_by_one_engine(places: dict[Id, list[float]], ks: dict[Id, int], rows: list[dict[str, Any]]) -> list[Any]:
    engine = skyband.open("window", "oracle", window=skyband.Window.time(100))
    engine.subscribe([{"id": id, "k": ks[id], "score": "euclidean", "point": places[id]} for id in places])
    return [change for row in rows for change in engine.publish([row]).to_pylist()]


def test_what_a_proxy_refused_is_delivered_when_members_expire() -> None:
    rows = [{"id": i, "ts": ts, "point": [x, 0.0]} for i, ts, x in ((1, 10, 0.1), (2, 20, 0.5), (3, 112, 9.0))]
    told = told_through_proxies({"ann": [0.0, 0.0]}, {"ann": 1}, rows)
    assert [change["publication"] for change in told if change["first"]] == [1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_proxies_with_gates_for_thresholds_lose_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    places: dict[Id, list[float]] = {f"s{i}": (random.integers(0, 5, 2) / 4).tolist() for i in range(6)}
    ks = {id: int(random.integers(1, 6)) for id in places}
    times = np.cumsum(random.integers(0, 15, 120)).tolist()
    rows = [{"id": i, "ts": ts, "point": (random.integers(0, 9, 2) / 8).tolist()} for i, ts in enumerate(times)]
    assert told_through_proxies(places, ks, rows) == told_by_one_engine(places, ks, rows)
