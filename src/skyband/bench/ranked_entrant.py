"""Who takes part in the evaluation of the ranked paper: the five indexes in their forms, tiers, and brute force."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skyband.bench.ranked_data import RankedData, subset, with_budgets
from skyband.kernels.array import Int64s
from skyband.kernels.slots import BLOCK
from skyband.ranked.interval_store import asking
from skyband.ranked.kernels.fitting import Rule, make_rule
from skyband.ranked.kernels.interval_scan import NEVER, BestSlots, Events, Standing, make_found
from skyband.ranked.layers import Kind
from skyband.ranked.matcher import Access, Matcher
from skyband.ranked.rows import Subscriptions
from skyband.workload.seed import Purpose, generator

RELAXED = make_rule("flat", "overlap", "sum", "relaxed")
EXACT = make_rule("flat", "overlap", "sum", "exact")
# Fewer changes than this do not begin a merge, as in the engine.
DELTA = 1024
# More than a leaf holds.
N_WARM = 100
UPDATES_AT_ONCE = 100


class IndexEntrant(NamedTuple):
    """An index as it takes part: its kind, the ways to it in relaxed and exact matching, and the form it is in.

    In the form "budgeted" every subscription has a budget, which a tenth have used up; in the form "dynamic" a tenth
    were replaced in small batches, and layers are as that leaves them. Brute force has no kind.
    """

    label: str
    kind: Kind | None
    relaxed: Access = "threshold"
    exact: Access = "anchor"
    form: str = "static"

    def access(self, rule: Rule) -> Access:
        """The way to subscriptions under a rule."""
        return self.exact if rule.exact else self.relaxed


SOPT = IndexEntrant("SOPT-R", "sopt")
IR = IndexEntrant("IR", "ir")
R = IndexEntrant("R", "r")
SEGMENT = IndexEntrant("Segment", "segment")
INTERVAL = IndexEntrant("Interval", "interval")
INDEXES = (SOPT, IR, R, SEGMENT, INTERVAL)
BUDGETED = IndexEntrant("SOPT-R, budgeted", "sopt", form="budgeted")
DYNAMIC = IndexEntrant("SOPT-R, dynamic", "sopt", form="dynamic")
# Not in the paper, and only for relaxed matching in several dimensions. Their kind is that of an index left empty.
TIERS = IndexEntrant("Tiers", "sopt", "tiers")
TIERS_DYNAMIC = IndexEntrant("Tiers, dynamic", "sopt", "tiers", form="dynamic")
# Not in the paper either: relaxed matching in the order of what subscriptions can score.
TOTAL = IndexEntrant("Total", "sopt", "total")
# The same order in pages, without an index of intervals.
DESCENT = IndexEntrant("Descent", "sopt", "descent")
DESCENT_DYNAMIC = IndexEntrant("Descent, dynamic", "sopt", "descent", form="dynamic")
# Exact matching by one part of each subscription, and by cells in all dimensions.
ANCHOR = IndexEntrant("anchor", "sopt")
CELLS = IndexEntrant("cells", "sopt", exact="cells")
CELLS_DYNAMIC = IndexEntrant("cells, dynamic", "sopt", exact="cells", form="dynamic")
SCAN = IndexEntrant("IndexScan", None)


class IndexScan:
    """Brute force with what a contest asks of a matcher."""

    def __init__(self, rule: Rule, data: RankedData) -> None:
        n, rows = data.n, data.rows
        self.n_slots = -(-n // BLOCK) * BLOCK
        self._asking = asking(rule, data.dims)
        self._asking.put(np.arange(n), self.n_slots, rows)
        needed = np.full(self.n_slots, NEVER)
        needed[:n] = np.where(rows.budget == 0, NEVER, np.diff(rows.offsets) if rule.exact else 1)
        self._standing = Standing(np.arange(self.n_slots), needed, np.full(self.n_slots, -1))
        self.work = np.zeros(2, np.int64)

    @property
    def n_bytes(self) -> int:
        return self._asking.n_bytes

    def match(self, events: Events, sort: bool = True) -> BestSlots:
        """The best subscriptions for each event."""
        found = make_found(events.k)
        self._asking.search(events, self.n_slots, self._standing, found)
        return found


class BuiltEntrant(NamedTuple):
    """An entrant with all subscriptions, the seconds that took, bytes for each indexed interval, and merges since."""

    entrant: IndexEntrant
    matcher: Matcher | IndexScan
    seconds: float
    n_bytes: float
    n_merges: int = 0


def build(entrant: IndexEntrant, rule: Rule, data: RankedData) -> BuiltEntrant:
    """Take all subscriptions in at once."""
    start = time.perf_counter()
    if entrant.kind is None:
        scan = IndexScan(rule, data)
        return BuiltEntrant(entrant, scan, time.perf_counter() - start, scan.n_bytes / max(len(data.rows.dim), 1))
    access = entrant.access(rule)
    n_parts = data.n if access == "anchor" else len(data.rows.dim)
    # The whole is built in at once, also where it is less than what begins a merge.
    matcher = Matcher(rule, data.dims, entrant.kind, access, min(DELTA, n_parts))
    matcher.label = np.arange(data.n)
    matcher.add(np.arange(data.n), with_budgets(data.rows) if entrant.form == "budgeted" else data.rows)
    spent, n_merges = time.perf_counter() - start, matcher.layers.n_merges
    if entrant.form == "dynamic":
        for owners in batches(data.n, data.n // 10):
            replace(matcher, data, owners)
    n_merges = matcher.layers.n_merges - n_merges
    return BuiltEntrant(entrant, matcher, spent, matcher.index_bytes / max(n_parts, 1), n_merges)


def warm(entrant: IndexEntrant, rule: Rule, data: RankedData) -> None:
    """Have all that building, matching and updates need compiled."""
    few = data._replace(rows=subset(data.rows, np.arange(min(data.n, N_WARM))))
    matcher = build(entrant, rule, few).matcher
    matcher.match(few.events(1, 1))
    if isinstance(matcher, Matcher):
        for owners in np.array_split(np.arange(few.n), min(few.n, 4)):
            replace(matcher, few, owners)
            matcher.match(few.events(1, 1))
        matcher.merge()


def replaced(n: int) -> Int64s:
    """The order in which subscriptions are replaced."""
    return generator(0, Purpose.OBJECTS).permutation(n)


def batches(n: int, n_replaced: int) -> Iterator[Int64s]:
    """The owners that are replaced, a few at a time."""
    order, at_once = replaced(n)[:n_replaced], min(UPDATES_AT_ONCE, -(-n // 40))
    return (order[start : start + at_once] for start in range(0, len(order), at_once))


def replacements(data: RankedData, owners: Int64s) -> Subscriptions:
    """What its neighbour asked for at first, for each of these, which leaves the distribution as it is."""
    return subset(data.rows, (owners + 1) % data.n)


def replace(matcher: Matcher, data: RankedData, owners: Int64s) -> int:
    """Give these owners other subscriptions; the nanoseconds it took."""
    asked = replacements(data, owners)
    start = time.perf_counter_ns()
    matcher.remove(owners)
    matcher.add(owners, asked)
    return time.perf_counter_ns() - start
