"""The evaluation of the ranked paper: indexes side by side on the same subscriptions and events.

The first entrant of a contest stays in memory and takes its turn beside each of the others, which come one after the
other; what it takes beside one is what that one's ratio is to. Answers are compared before anything is timed, with
those of the first, and the first's with brute force.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from skyband.bench.benchmark import Progress
from skyband.bench.contest import WrongAnswer
from skyband.bench.ranking_data import Data
from skyband.bench.ranking_duel import Effort, duel, n_events
from skyband.bench.ranking_entrant import Built, Entrant, Scan, batches, build, replace, warm
from skyband.bench.row import Row, measured, skipped
from skyband.ranked.kernels.fitting import Rule
from skyband.ranked.matcher import Matcher
from skyband.ranked.segmenttree import SegmentForest

# A segment tree that would take more bytes is left out.
MOST_BYTES = 6e9
N_CHECKED = 20


def too_large(first: Matcher | Scan, entrant: Entrant) -> str | None:
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
    data: Data,
    rule: Rule,
    entrants: Sequence[Entrant],
    ks: Sequence[int],
    effort: Effort,
    progress: Progress,
    given: dict[str, Any] | None = None,
) -> Iterator[Row]:
    """Rows for every entrant and k; `given` are more parameters."""
    parameters = {"data": data.label, "n_subscriptions": data.n, "d": data.dims, "matching": _matching(rule)}
    parameters |= given or {}
    label = ", ".join(str(value) for value in parameters.values())
    first: Built | None = None
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
            check(first.matcher, Scan(rule, data), data, max(ks), label, n_checked)
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


def check(one: Matcher | Scan, other: Matcher | Scan, data: Data, k: int, what: str, n: int = N_CHECKED) -> None:
    """Raise `WrongAnswer` unless two give the same answers to the first n events."""
    events = data.events(n, k)
    for answer, expected in zip(one.match(events), other.match(events), strict=True):
        if not np.array_equal(answer, expected):
            raise WrongAnswer(f"{what}: the answers differ.")


def updates(built: Built, data: Data, patience: float) -> dict[str, float]:
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
