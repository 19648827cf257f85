"""Searches among the roots against brute force: exact ones find what there is, and none finds what does not cover."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from skyband.covering import search as searching
from skyband.covering.grid import WHOLE, Domain, check_bits, match_nothing, to_points
from skyband.covering.kernels.corners import NONE
from skyband.covering.kernels.cubes import n_cubes
from skyband.covering.kernels.sfc import INNER, LEAF
from skyband.covering.roots import Roots
from skyband.covering.search import Corners, Greedy, Jumps, Placed, Search
from skyband.kernels.array import Bools, Floats, Int64s

Generator = np.random.Generator
Boxes = tuple[Floats, Floats]

INF = np.inf


class Setting(NamedTuple):
    """Attributes, all with the same domain, and the bits of a coordinate."""

    n_attributes: int
    domain: Domain
    bits: int

    @property
    def domains(self) -> list[Domain]:
        return [self.domain] * self.n_attributes


# Few cells, for searches that look at all of them; wide ones are for exact searches, the last with keys of 256 bits.
TOLD_APART = [Setting(1, Domain(0, 15, True), 4), Setting(2, Domain(-3, 4, True), 3), Setting(3, Domain(0, 3, True), 2)]
SHARED = [
    Setting(1, WHOLE, 5),
    Setting(2, WHOLE, 4),
    Setting(2, Domain(0.0, 1.0), 4),
    Setting(2, Domain(0, 9, True), 3),
]
WIDE = [Setting(n, domain, 16) for n in (1, 2, 3, 4, 8) for domain in (WHOLE, Domain(0, 65_535, True))]
WIDE += [Setting(4, WHOLE, 32)]


def numbers_in(domain: Domain, random: Generator, shape: tuple[int, ...]) -> Floats:
    if domain.integer:
        return random.integers(int(domain.low), int(domain.high) + 1, shape).astype(np.float64)
    return random.random(shape)


def draw_random(setting: Setting, random: Generator, n: int) -> Boxes:
    ends = np.sort(numbers_in(setting.domain, random, (n, setting.n_attributes, 2)), axis=2)
    return ends[:, :, 0].copy(), ends[:, :, 1].copy()


def draw_wide(setting: Setting, random: Generator, n: int) -> Boxes:
    """Half of them small and half of them large, so that with many attributes too some cover others."""
    lo, hi = draw_random(setting, random, n)
    large = draw_unlimited(setting, random, n)
    is_large = random.random((n, 1)) < 0.5
    return np.where(is_large, large[0], lo), np.where(is_large, large[1], hi)


def draw_equal(setting: Setting, random: Generator, n: int) -> Boxes:
    lo, hi = draw_random(setting, random, 1)
    return lo.repeat(n, axis=0), hi.repeat(n, axis=0)


def draw_chain(setting: Setting, random: Generator, n: int) -> Boxes:
    """Each within the next, in an order at random."""
    lo, hi = draw_random(setting, random, n)
    order = random.permutation(n)
    return -np.sort(-lo, axis=0)[order], np.maximum(np.sort(hi, axis=0), lo.max(axis=0))[order]


def draw_touching(setting: Setting, random: Generator, n: int) -> Boxes:
    """Tiles of one line, and unions of neighbours: sides and corners in common."""
    cuts = np.unique(numbers_in(setting.domain, random, (6,)))
    first = random.integers(0, len(cuts), (n, setting.n_attributes))
    last = np.minimum(first + random.integers(0, 3, first.shape), len(cuts) - 1)
    return cuts[first], cuts[last]


def draw_flat(setting: Setting, random: Generator, n: int) -> Boxes:
    """Boxes of no volume, and single points."""
    lo, hi = draw_random(setting, random, n)
    is_flat = random.random(lo.shape) < 0.7
    return lo, np.where(is_flat, lo, hi)


def draw_one_sided(setting: Setting, random: Generator, n: int) -> Boxes:
    lo, hi = draw_random(setting, random, n)
    is_above = random.random(lo.shape) < 0.5
    return np.where(is_above, lo, -INF), np.where(is_above, INF, hi)


def draw_unlimited(setting: Setting, random: Generator, n: int) -> Boxes:
    """Attributes that do not matter, or all but to one side."""
    lo, hi = draw_random(setting, random, n)
    return np.where(random.random(lo.shape) < 0.7, -INF, lo), np.where(random.random(lo.shape) < 0.7, INF, hi)


def draw_huge(setting: Setting, random: Generator, n: int) -> Boxes:
    """Far outside of what the grid was fitted to, in part."""
    lo, hi = draw_random(setting, random, n)
    return lo * random.choice([1.0, -1e150], lo.shape), hi * random.choice([1.0, 1e150], hi.shape)


DRAWN = [
    draw_random, draw_wide, draw_equal, draw_chain, draw_touching, draw_flat, draw_one_sided, draw_unlimited, draw_huge,
]  # fmt: skip
Draw = Callable[[Setting, Generator, int], Boxes]


class Case:
    """Members of which the first ones are roots; the others ask."""

    def __init__(self, setting: Setting, boxes: Boxes, n_roots: int) -> None:
        lo, hi = boxes
        can_match = ~match_nothing(setting.domains, lo, hi)
        self.points = to_points(setting.domains, lo[can_match], hi[can_match])
        self.members = np.arange(len(self.points))
        self.held, self.asking = self.members[:n_roots], self.members[n_roots:]
        self.roots = Roots(setting.domains, check_bits(2 * setting.n_attributes, setting.bits))
        self.roots.store(self.members, self.points)
        # The grid is fitted to some of the members only.
        self.roots.refit(self.members[::3], self.held[:0])
        self.roots.insert(self.held)
        self.roots.check(self.held)

    def covers(self, above: Int64s, below: Int64s) -> Bools:
        """By place, whether a member covers another."""
        return np.asarray((self.points[above][:, None] >= self.points[below][None]).all(axis=2))

    def check_found(self, search: Search, is_exact: bool) -> None:
        found, truth = search.find(self.points[self.asking]), self.covers(self.held, self.asking)
        assert found.shape == self.asking.shape
        for i, slot in enumerate(found.tolist()):
            if slot == NONE:
                assert not is_exact or not truth[:, i].any()
            else:
                assert slot in self.held
                assert truth[slot, i]

    def check_covered(self, search: Search, is_exact: bool) -> None:
        truth = self.covers(self.asking, self.held)
        for i, slot in enumerate(self.asking.tolist()):
            found, wanted = search.covered(slot).tolist(), set(self.held[truth[i]].tolist())
            assert len(set(found)) == len(found)
            assert set(found) <= wanted
            assert not is_exact or set(found) == wanted


def make_case(setting: Setting, draw: Draw, n: int = 90, n_roots: int = 70, seed: int = 0) -> Case:
    random = np.random.default_rng((n, seed, *map(ord, draw.__name__)))
    return Case(setting, draw(setting, random, n), n_roots)


def check_all(case: Case, searches: list[tuple[Search, bool]]) -> None:
    for search, is_exact in searches:
        case.check_found(search, is_exact)
        case.check_covered(search, is_exact)


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("setting", TOLD_APART + SHARED)
def test_few_cells(setting: Setting, draw: Draw) -> None:
    case = make_case(setting, draw)
    greedy = [(Greedy(case.roots, 0.0), setting in TOLD_APART), (Greedy(case.roots, 0.3), False)]
    check_all(case, [(Corners(case.roots), True), (Jumps(case.roots), True), *greedy])


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("setting", WIDE)
def test_many_cells(setting: Setting, draw: Draw) -> None:
    case = make_case(setting, draw, 200, 180)
    check_all(case, [(Corners(case.roots), True), (Jumps(case.roots), True)])


@pytest.mark.parametrize("n_roots", [0, 1, 2, 33])
@pytest.mark.parametrize("setting", [TOLD_APART[1], SHARED[1]])
def test_few_roots(setting: Setting, n_roots: int) -> None:
    case = make_case(setting, draw_random, n_roots + 12, n_roots)
    is_apart = setting in TOLD_APART
    check_all(case, [(Corners(case.roots), True), (Jumps(case.roots), True), (Greedy(case.roots, 0.0), is_apart)])
    for search in (Corners(case.roots), Jumps(case.roots), Greedy(case.roots, 0.0)):
        assert search.find(case.points[:0]).tolist() == []


@pytest.mark.parametrize("setting", [Setting(1, Domain(0, 63, True), 6), Setting(1, Domain(0.0, 1.0), 2)])
def test_each_is_covered_by_itself_alone(setting: Setting) -> None:
    """Whatever its place in a leaf, be it the first, and if all leaves hold one and the same cell."""
    ends = np.linspace(0.0, setting.domain.high, 64)[:, None]
    case = Case(setting, (ends, ends), 64)
    searches: list[Search] = [Corners(case.roots), Jumps(case.roots)]
    if setting.domain.integer:
        searches.append(Greedy(case.roots, 0.0))
    for search in searches:
        assert np.array_equal(search.find(case.points), case.held)
        assert [search.covered(slot).tolist() for slot in case.held] == [[slot] for slot in case.held]


def test_roots_that_come_and_go() -> None:
    case = make_case(TOLD_APART[1], draw_random, 140, 120)
    random = np.random.default_rng(3)
    searches = [(Corners(case.roots), True), (Jumps(case.roots), True), (Greedy(case.roots, 0.0), True)]
    everything, held = case.points.copy(), case.held
    for n in (60, 6, 0):
        stay = np.sort(random.permutation(held)[:n])
        case.roots.remove(np.setdiff1d(held, stay))
        held = stay
        if case.roots.is_sparse(n):
            case.roots.rebuild(stay)
        case.roots.check(stay)
        # Slots are places in the points: those that are gone cover nothing any more, and nothing covers them.
        case.points = np.where(np.isin(case.members, np.append(stay, case.asking))[:, None], everything, np.nan)
        for search, _ in searches:
            case.check_found(search, True)
            case.check_covered(search, True)


def test_a_member_that_covers_very_many() -> None:
    case = make_case(Setting(2, WHOLE, 16), draw_random, 400, 400)
    whole = np.array([400])
    case.roots.store(whole, np.full((1, 4), INF))
    for search in (Corners(case.roots), Jumps(case.roots), Greedy(case.roots, 0.0), Greedy(case.roots, 0.9)):
        assert sorted(search.covered(400).tolist()) == list(range(400))


@pytest.mark.parametrize(
    "setting", [Setting(8, Domain(0, 65_535, True), 16), Setting(4, Domain(0, 2**32 - 1, True), 32)]
)
def test_greedy_with_large_cubes_in_many_dimensions(setting: Setting) -> None:
    """Sides that are powers of two: few cubes however many dimensions there are."""
    half, n = 2.0 ** (setting.bits - 1), setting.n_attributes
    ends = [(half - 5, half + 5), (half + 1, half + 2), (half - 1, half), (half, INF)]
    case = Case(setting, (np.array([[lo] * n for lo, _ in ends]), np.array([[hi] * n for _, hi in ends])), 2)
    for epsilon in (0.0, 0.5):
        greedy = Greedy(case.roots, epsilon)
        assert greedy.find(case.points[2:3]).tolist() == [0]
        assert greedy.cost == 1
        assert greedy.find(np.full((1, 2 * n), INF)).tolist() == [NONE]
        assert greedy.cost == 2
    # Half as wide as the universe in every other dimension.
    greedy = Greedy(case.roots, 0.0)
    assert greedy.covered(3).tolist() == [1]
    assert greedy.cost == 2**n


def empty_case(setting: Setting, n: int) -> tuple[Case, list[Int64s]]:
    """Roots that cover nothing of what is asked for, and the sides of the regions of what is."""
    case = make_case(setting, draw_random, n + 1, 1, seed=5)
    case.roots.remove(case.held)
    case.held = case.held[:0]
    cells = case.roots.grid.cells(case.points[case.asking], 1).astype(np.int64)
    return case, list((1 << setting.bits) - cells)


def n_probes(lengths: Int64s, epsilon: Fraction) -> int:
    """The twin: how many of the cubes, the largest first, have the share 1 - ε of the volume."""
    wanted, n = (1 - epsilon) * int(np.prod(lengths.astype(object))), 0
    for level, number in reversed(list(enumerate(n_cubes(lengths)))):
        volume = 1 << level * len(lengths)
        if number * volume >= wanted:
            return n + max(-(-wanted // volume), 0)
        wanted, n = wanted - number * volume, n + number
    return n


@pytest.mark.parametrize("setting", [*TOLD_APART, *SHARED, Setting(1, WHOLE, 10)])
def test_probes_where_nothing_is_found(setting: Setting) -> None:
    case, regions = empty_case(setting, 12)
    for i, lengths in enumerate(regions):
        before = sum(n_cubes(lengths))
        for epsilon in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0):
            greedy = Greedy(case.roots, epsilon)
            assert greedy.find(case.points[case.asking[i : i + 1]]).tolist() == [NONE]
            assert 1.0 - epsilon <= greedy.share <= 1.0 + 1e-12
            assert greedy.cost == before if epsilon == 0.0 else greedy.cost <= before
            # One more where the share is met exactly, for it has to be clear of rounding errors.
            assert greedy.cost - n_probes(lengths, Fraction(epsilon)) in (0, 1)
            before = greedy.cost


@pytest.mark.parametrize("setting", [TOLD_APART[1], SHARED[1]])
def test_less_is_found_the_less_is_searched(setting: Setting) -> None:
    case, n_found = make_case(setting, draw_random, 80, 20), list[int]()
    for i in case.asking:
        point, before = case.points[i : i + 1], None
        for epsilon in (0.9, 0.3, 0.05, 0.0):
            greedy = Greedy(case.roots, epsilon)
            found, cost = int(greedy.find(point)[0]), greedy.cost
            assert cost <= sum(n_cubes((1 << setting.bits) - case.roots.grid.cells(point, 1)[0].astype(np.int64)))
            assert found != NONE or greedy.share >= 1.0 - epsilon
            # The cubes come in the same order, so a longer search goes on where a shorter one ended.
            assert before is None or (cost >= before[1] and before[0] in (found, NONE))
            before = found, cost
            n_found += [epsilon > 0.5] * (found != NONE)
    assert 0 < sum(n_found) < len(n_found) - sum(n_found)


def test_a_search_that_pauses_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(TOLD_APART[1], draw_random)
    whole, paused = Greedy(case.roots, 0.1), Greedy(case.roots, 0.1)
    for slot in case.asking.tolist():
        monkeypatch.setattr(searching, "AT_ONCE", 1_000_000)
        wanted = whole.find(case.points[slot : slot + 1]), whole.covered(slot)
        monkeypatch.setattr(searching, "AT_ONCE", 3)
        found = paused.find(case.points[slot : slot + 1]), paused.covered(slot)
        assert np.array_equal(found[0], wanted[0])
        assert np.array_equal(found[1], wanted[1])
        assert (paused.cost, paused.share) == (whole.cost, whole.share)


@pytest.mark.parametrize("setting", [Setting(1, WHOLE, 16), Setting(3, WHOLE, 16)])
def test_exact_searches_look_at_each_node_once_at_most(setting: Setting) -> None:
    case = make_case(setting, draw_random, 620, 600)
    array, n = case.roots.curve.array, len(case.asking)
    n_leaves, n_inners = (
        len(nodes.length) - int(array.n_free[kind]) for kind, nodes in ((LEAF, array.leaves), (INNER, array.inners))
    )
    corners, jumps, lister = Corners(case.roots), Jumps(case.roots), Corners(case.roots)
    for slot in case.asking.tolist():
        before = corners.cost, jumps.cost, lister.cost
        corners.find(case.points[slot : slot + 1])
        jumps.find(case.points[slot : slot + 1])
        # A list that turns out to be longer than was thought is made twice.
        passes = 1 + (len(lister.covered(slot)) > 64)
        assert 1 <= corners.cost - before[0] <= n_leaves + n_inners
        assert 1 <= jumps.cost - before[1] <= n_leaves
        assert 1 <= lister.cost - before[2] <= passes * (n_leaves + n_inners)
    # Most nodes are passed over.
    assert corners.cost < n * (n_leaves + n_inners) / 2
    assert jumps.cost < n * n_leaves / 2


def placed_in_two_batches(case: Case, search: Search, demoting: bool = True) -> tuple[list[Int64s], list[Placed]]:
    orders, all_placed = list[Int64s](), list[Placed]()
    for batch in (case.members[::2], case.members[1::2]):
        orders.append(case.roots.descending(batch))
        all_placed.append(search.place(orders[-1], demoting))
    return orders, all_placed


def check_placed(case: Case, search: Search, is_exact: bool) -> None:
    orders, all_placed = placed_in_two_batches(case, search)
    covers, roots = case.covers(case.members, case.members), set[int]()
    for order, placed in zip(orders, all_placed, strict=True):
        before = set(roots)
        for slot, parent in zip(order.tolist(), placed.parents.tolist(), strict=True):
            assert parent == NONE or (covers[parent, slot] and parent in before | set(order.tolist()))
            roots |= {slot} if parent == NONE else set()
        assert set(placed.demoted.tolist()) <= before
        assert len(set(placed.demoted.tolist())) == len(placed.demoted)
        assert covers[placed.above, placed.demoted].all()
        assert set(placed.above.tolist()) <= roots
        roots -= set(placed.demoted.tolist())
    case.roots.check(np.array(sorted(roots), np.int64))
    # All are covered by roots, and of the roots none by another: one stands for those that are equal.
    left = np.array(sorted(roots), np.int64)
    if is_exact:
        assert covers[left].any(axis=0).all()
        assert covers[np.ix_(left, left)].sum() == len(left)


MAKERS: list[tuple[Callable[[Roots], Search], bool]] = [
    (Corners, True), (Jumps, True),
    (lambda roots: Greedy(roots, 0.0), False), (lambda roots: Greedy(roots, 0.4), False),
]  # fmt: skip


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("setting", [*TOLD_APART[:2], *SHARED[1:3]])
def test_members_are_placed_below_those_that_cover_them(setting: Setting, draw: Draw) -> None:
    for make, is_exact in MAKERS:
        case = make_case(setting, draw, 70, 0)
        search = make(case.roots)
        is_exhaustive = isinstance(search, Greedy) and search.epsilon == 0.0 and setting in TOLD_APART
        check_placed(case, search, is_exact or is_exhaustive)


@pytest.mark.parametrize("setting", [Setting(4, WHOLE, 16), Setting(8, WHOLE, 16)])
def test_many_are_placed(setting: Setting) -> None:
    for make, is_exact in MAKERS[:2]:
        case = make_case(setting, draw_wide, 300, 0)
        check_placed(case, make(case.roots), is_exact)


class OneAtATime(Corners):
    """The placing that all searches have unless they have their own."""

    def place(self, slots: Int64s, demoting: bool = True) -> Placed:
        return Search.place(self, slots, demoting)


@pytest.mark.parametrize("demoting", [True, False])
@pytest.mark.parametrize("draw", DRAWN)
def test_placing_one_at_a_time_is_placing_many(draw: Draw, demoting: bool) -> None:
    one, many = (make_case(Setting(2, WHOLE, 16), draw, 120, 0) for _ in range(2))
    orders, placed = placed_in_two_batches(one, OneAtATime(one.roots), demoting)
    same_orders, same_placed = placed_in_two_batches(many, Corners(many.roots), demoting)
    for i in range(2):
        assert np.array_equal(orders[i], same_orders[i])
        assert all(np.array_equal(a, b) for a, b in zip(placed[i], same_placed[i], strict=True))
    assert demoting or not any(len(batch.demoted) for batch in placed)
    planted = np.concatenate([order[each.parents == NONE] for order, each in zip(orders, placed, strict=True)])
    for case in (one, many):
        case.roots.check(np.setdiff1d(planted, np.concatenate([each.demoted for each in placed])))


@pytest.mark.parametrize("setting", [Setting(2, WHOLE, 2), Setting(2, Domain(0, 3, True), 2), Setting(4, WHOLE, 16)])
@pytest.mark.parametrize("draw", DRAWN)
def test_what_covers_another_comes_first(setting: Setting, draw: Draw) -> None:
    case = make_case(setting, draw, 120, 0)
    order = case.roots.descending(case.members)
    assert sorted(order.tolist()) == case.members.tolist()
    covers = case.covers(order, order)
    # Below the diagonal are those that come later; equal ones come in the order of arrival.
    assert not (np.tril(covers, -1) & ~covers.T).any()
    later, sooner = np.nonzero(np.tril(covers & covers.T, -1))
    assert (order[later] > order[sooner]).all()
    assert case.roots.descending(case.members[:0]).tolist() == []
