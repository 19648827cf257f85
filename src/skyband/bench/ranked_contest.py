"""The evaluation of the ranked paper: indexes side by side on the same subscriptions and events.

The first entrant of a contest stays in memory and takes its turn beside each of the others, which come one after the
other; what it takes beside one is what that one's ratio is to. Answers are compared before anything is timed, with
those of the first, and the first's with brute force.

Events are timed one after the other and as a batch that is sorted; how many of them is found by trying. The first and
the other take the same ones, as many as the slower of the two has the patience for; an index that could take more does
so by itself, and only its ratio is of the few.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skyband.bench.experiment import Progress
from skyband.bench.ranked_data import RankedData
from skyband.bench.ranked_entrant import BuiltEntrant, IndexEntrant, IndexScan, batches, build, replace, warm
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import Call, WrongAnswer, time_in_turn
from skyband.kernels.array import Int64s
from skyband.ranked.kernels.fitting import Rule
from skyband.ranked.kernels.getnext import CURSORS, first_parts
from skyband.ranked.kernels.interval_scan import BestSlots, Events
from skyband.ranked.kernels.packed import LEAVES, Packed
from skyband.ranked.kernels.streams import RANDOM, SORTED
from skyband.ranked.matcher import Matcher
from skyband.ranked.segmenttree import SegmentForest

# A segment tree that would take more bytes is left out.
MOST_BYTES = 6e9
N_CHECKED = 20
# So many events are timed even if they take longer than a round may: once, since each is tens of milliseconds.
LEAST = 5


class RankedEffort(NamedTuple):
    """How much is measured: rounds, the most events of a round, and seconds that a round and updates may take.

    An entrant that has used up its allowance, in seconds, is not asked for any more ks.
    """

    n_rounds: int
    n_events: int
    patience: float
    updating: float = 0.0
    allowance: float = np.inf


class Contest(NamedTuple):
    """Subscriptions and events, the rules with who takes part under each, and what rows say beside.

    With a `reason` nothing is measured, and a row says so: its contest is `label`, and its parameters are `given`.
    """

    data: Callable[[], RankedData]
    matches: Sequence[tuple[Rule, Sequence[IndexEntrant]]]
    ks: Sequence[int]
    effort: RankedEffort
    given: dict[str, Any] = {}  # noqa: RUF012 - never written to
    reason: str | None = None
    label: str = ""


def run_contest(each: Contest, progress: Progress) -> Iterator[Row]:
    """Rows for every entrant and k under each rule."""
    if each.reason is not None:
        yield skipped(each.label, each.matches[0][1][0].label, each.given, each.reason)
        return
    data = each.data()
    for rule, entrants in each.matches:
        yield from contest(data, rule, entrants, each.ks, each.effort, progress, each.given)


def too_large(first: Matcher | IndexScan, entrant: IndexEntrant) -> str | None:
    """Why an entrant is left out, as a sentence; None if it is not."""
    if entrant.kind != "segment" or not isinstance(first, Matcher):
        return None
    # Dimensions are alike: what one takes is taken as often as there are some.
    dims = first.parts.dim[: first.pool.n_rows]
    ids = np.flatnonzero(dims == dims[0]).astype(np.int32)
    n_bytes = SegmentForest.estimate(first.parts, ids) * first.pool.n_rows / len(ids)
    if n_bytes <= MOST_BYTES:
        return None
    return f"Skipped: it would take {n_bytes / 1e9:.1f} GB, and {MOST_BYTES / 1e9:.0f} GB are allowed."


def contest(
    data: RankedData,
    rule: Rule,
    entrants: Sequence[IndexEntrant],
    ks: Sequence[int],
    effort: RankedEffort,
    progress: Progress,
    given: dict[str, Any] | None = None,
) -> Iterator[Row]:
    """Rows for every entrant and k; `given` are more parameters."""
    parameters = {"data": data.label, "n_subscriptions": data.n, "d": data.dims, "matching": _matching(rule)}
    parameters |= given or {}
    label = ", ".join(str(value) for value in parameters.values())
    first: BuiltEntrant | None = None
    for entrant in entrants:
        progress(f"{label}, {entrant.label}")
        reason = None if first is None else too_large(first.matcher, entrant)
        if reason is not None:
            yield from (skipped(f"{label}, {k}", entrant.label, parameters | {"k": k}, reason) for k in ks)
            continue
        warm(entrant, rule, data)
        begun = time.perf_counter()
        built = build(entrant, rule, data)
        if first is None:
            first, n_checked = built, min(N_CHECKED, n_events(built.matcher, data, max(ks), effort))
            check(first.matcher, IndexScan(rule, data), data, max(ks), label, n_checked)
        elif entrant.form == "static":
            check(built.matcher, first.matcher, data, max(ks), label, n_checked)
        rows = []
        for k in ks:
            here = (f"{label}, {k}", entrant.label, parameters | {"k": k})
            if time.perf_counter() - begun < effort.allowance:
                rows.append(measured(*here, *duel(first, built, data, k, effort)))
            else:
                rows.append(
                    skipped(*here, f"Skipped: {effort.allowance:g} s were used up by building and by smaller k.")
                )
        if effort.updating and entrant.form == "static" and entrant.kind is not None:
            # The first one stays as it is.
            found = updates(build(entrant, rule, data) if built is first else built, data, effort.updating)
            for row in rows:
                row["measures"] |= {} if row["skipped"] else found
        del built
        yield from rows


def _matching(rule: Rule) -> str:
    return "exact" if rule.exact else "relaxed"


def check(
    one: Matcher | IndexScan, other: Matcher | IndexScan, data: RankedData, k: int, what: str, n: int = N_CHECKED
) -> None:
    """Raise `WrongAnswer` unless two give the same answers to the first n events."""
    events = data.events(n, k)
    for answer, expected in zip(one.match(events), other.match(events), strict=True):
        if not np.array_equal(answer, expected):
            raise WrongAnswer(f"{what}: the answers differ.")


def updates(built: BuiltEntrant, data: RankedData, patience: float) -> dict[str, float]:
    """Replaced subscriptions a second, merges included: a quarter of all, or as many as patience allows."""
    matcher = built.matcher
    assert isinstance(matcher, Matcher)
    todo = batches(data.n, max(data.n // 4, 2))
    # The first one makes the layers for what changes.
    replace(matcher, data, next(todo))
    n_done, spent, n_merges, end = 0, 0, matcher.layers.n_merges, time.perf_counter() + patience
    for owners in todo:
        spent += replace(matcher, data, owners)
        n_done += len(owners)
        if time.perf_counter() > end:
            break
    merges = matcher.layers.n_merges - n_merges
    return {"updates": n_done / (spent / 1e9), "updated": float(n_done), "merges": float(merges)}


def duel(
    first: BuiltEntrant, other: BuiltEntrant, data: RankedData, k: int, effort: RankedEffort
) -> tuple[list[int], int, dict[str, float]]:
    """Latencies of an entrant, of how many events, and what was measured, by itself and beside the first."""
    n = n_events(other.matcher, data, k, effort)
    n_shared = n if first is other else min(n, n_events(first.matcher, data, k, effort))
    times = _beside(first, other, data.events(n_shared, k), n > LEAST, effort.n_rounds)
    ratio, ratio_batch = (_median(times, f"own {sort}") / _median(times, f"first {sort}") for sort in (False, True))
    if n > n_shared:
        times = time_in_turn(_calls("own", other, data.events(n, k)), effort.n_rounds)
    measures = {
        "single_us": _median(times, "own False") / n / 1e3,
        "batch_us": _median(times, "own True") / n / 1e3,
        "ratio": 1.0 if first is other else ratio,
        "ratio_batch": 1.0 if first is other else ratio_batch,
        "build_s": other.seconds,
        "bytes": other.n_bytes,
    }
    if other.entrant.form == "dynamic":
        measures["merges"] = float(other.n_merges)
    return times["own False"], n, measures | work(other, data.events(n_shared, k))


def _beside(
    first: BuiltEntrant, other: BuiltEntrant, events: Events, quick: bool, n_rounds: int
) -> dict[str, list[int]]:
    """Turn and turn about; one turn where an event takes long, but for an index that is `quick` beside such a one."""
    firsts, own = _calls("first", first, events), _calls("own", other, events)
    usual, once, few = (n_rounds, 1), (1, 0), len(events.k) <= LEAST
    if first is other:
        times = time_in_turn(own, *(usual if quick else once))
        return times | {name.replace("own", "first"): taken for name, taken in times.items()}
    if few and quick:
        return time_in_turn(firsts, *once) | time_in_turn(own, *usual)
    return time_in_turn(firsts | own, *(once if few else usual))


def _calls(name: str, built: BuiltEntrant, events: Events) -> dict[str, Call]:
    return {f"{name} {sort}": partial(_match, built.matcher, events, sort) for sort in (False, True)}


def _match(matcher: Matcher | IndexScan, events: Events, sort: bool, turn: int) -> BestSlots:
    return matcher.match(events, sort=sort)


def _median(times: dict[str, list[int]], name: str) -> float:
    return float(np.median(times[name]))


def n_events(matcher: Matcher | IndexScan, data: RankedData, k: int, effort: RankedEffort) -> int:
    """How many events a round may have: as many as patience allows, judged by ever more of them, and a handful."""
    n, most = 1, min(effort.n_events, len(data.points))
    while True:
        start = time.perf_counter()
        matcher.match(data.events(n, k), sort=False)
        spent = time.perf_counter() - start
        if n == most or spent >= effort.patience / 8:
            return max(min(int(n * effort.patience / max(spent, 1e-9)), most), min(LEAST, most))
        n = min(4 * n, most)


def work(built: BuiltEntrant, events: Events) -> dict[str, float]:
    """Accesses for an event, and in one dimension the leaves that a packed tree opens."""
    matcher, n = built.matcher, len(events.k)
    before = matcher.work.copy()
    matcher.match(events)
    done = (matcher.work - before) / n
    found = {"sorted": float(done[SORTED]), "random": float(done[RANDOM])} if isinstance(matcher, Matcher) else {}
    if isinstance(matcher, Matcher) and built.entrant.form == "static" and events.low.shape[1] == 1:
        tree, width = tree_of(matcher)
        if isinstance(tree, Packed):
            found["leaves"] = float(leaves(tree, matcher, width, events[0][:1000, 0], int(events.k[0])).mean())
    return found


def tree_of(matcher: Matcher) -> tuple[Any, int]:
    """The index by itself, and how long a cursor has to be."""
    layers, length = matcher.layers.view(matcher.parts, False, 0)
    return (layers.young if matcher.layers.kind == "ir" else layers.large), length - CURSORS


def leaves(tree: Packed, matcher: Matcher, width: int, values: Any, k: int) -> Int64s:
    """How many leaves are opened for the first k of each value."""
    cursor, found = np.zeros(width, np.int64), np.zeros((1, k), np.int32)
    opened = np.zeros(len(values), np.int64)
    for i in range(len(values)):
        first_parts(tree, matcher.parts, 0, values[i : i + 1], cursor, found)
        opened[i] = cursor[LEAVES]
    return opened
