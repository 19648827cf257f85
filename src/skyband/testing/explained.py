"""Explanations and previews against the oracle: ranks, scores and what is missed are those of all that compete.

The oracle is asked for so large a k that its tops hold everything that competes; nothing else need be known of a
family.
"""

from typing import Any

from hypothesis import given, settings

from skyband.contract import FAMILIES, AnyEngine
from skyband.contract.explanation import Explanation
from skyband.table import LARGEST_K
from skyband.testing.case import Case
from skyband.testing.machine import same
from skyband.testing.script import Action, run_script, scripts

Ranked = list[tuple[Any, float]]
# No script publishes so many.
NEVER_PUBLISHED = 10_000


def check_explanations(case: Case, profile: settings | None = None) -> None:
    """Every publication explained to every subscription, and every subscription previewed; nothing changes by that."""

    @given(scripts(case.engine.family))
    def check(actions: list[Action]) -> None:
        engine, oracle, wide = case.open("raise"), case.open_oracle(), case.open_oracle()
        for each in (engine, oracle, wide):
            run_script(each, actions)
        before = _shown(engine)
        rows = [row for action in actions if action.verb == "subscribe" for row in action.argument]
        wide.resize([row["id"] for row in rows], LARGEST_K)
        for row in rows:
            _check_all(case, engine, oracle, _members(wide, row["id"]), row["id"], actions)
        _check_previews(engine, oracle, rows)
        assert _shown(engine) == before

    (profile(check) if profile else check)()


def _shown(engine: AnyEngine) -> list[Any]:
    """What an engine shows of itself."""
    return [engine.top().to_pylist(), engine.counters, engine.memory(), engine.now, engine.settings]


def _members(engine: AnyEngine, subscription: Any) -> Ranked:
    return [(row["publication"], row["score"]) for row in engine.top([subscription]).to_pylist()]


def _check_all(
    case: Case, engine: AnyEngine, oracle: AnyEngine, competing: Ranked, subscription: Any, actions: list[Action]
) -> None:
    column = "object" if FAMILIES[case.engine.family].has_objects else "id"
    rows = [row for action in actions if action.verb == "publish" for row in action.argument]
    top = _members(engine, subscription)
    for name in {row[column] for row in rows}:
        got, wanted = engine.explain(subscription, name), oracle.explain(subscription, name)
        assert _without_bound(got) == _without_bound(wanted)
        _check_one(got, competing, top)
    are_texts = any(isinstance(row[column], str) for row in rows)
    unknown = engine.explain(subscription, str(NEVER_PUBLISHED) if are_texts else NEVER_PUBLISHED)
    assert (unknown.state, unknown.in_top, unknown.rank) == ("unknown", False, None)


def _without_bound(explanation: Explanation) -> dict[str, Any]:
    told = explanation.as_dict()
    return {name: value for name, value in told.items() if name not in ("bound", "text")}


def _check_one(got: Explanation, competing: Ranked, top: Ranked) -> None:
    """An explanation against the ranking of all that compete, and against the top itself."""
    names = [name for name, _ in competing]
    rank = names.index(got.publication) + 1 if got.publication in names else None
    kth = competing[got.k - 1][1] if got.k <= len(competing) else None
    assert (got.rank, got.n_competing, got.kth_score) == (rank, len(competing), kth)
    assert got.in_top == (got.publication in [name for name, _ in top])
    assert (rank is not None) == (got.state == "live" and bool(got.matches))
    assert got.matches is None or got.matches == (all(one.met for one in got.conditions) and got.score is not None)
    if rank is not None:
        assert got.score == competing[rank - 1][1]
    if got.missed_by is not None:
        assert not got.in_top
        assert kth is not None
        assert got.score is not None
        assert got.missed_by == abs(got.score - kth)
    _check_bound(got)


def _check_bound(got: Explanation) -> None:
    """What is kept is counted, members are kept at their rank, and what is pruned is in no top."""
    bound = got.bound
    if bound.name == "none":
        return
    assert bound.place is None or 1 <= bound.place <= bound.n_kept
    if got.in_top:
        assert bound.place == got.rank
        assert not bound.pruned
    if got.rank is None:
        assert bound.place is None


def _check_previews(engine: AnyEngine, oracle: AnyEngine, rows: list[dict[str, Any]]) -> None:
    """A preview is the top after subscribing, under an id that is new and under one that is not."""
    fresh = [row | {"id": f"new {row['id']}"} for row in rows]
    previewed, replaced = engine.preview(fresh).table(), engine.preview(rows).table()
    oracle.subscribe(fresh)
    same(previewed, oracle.top([row["id"] for row in fresh]))
    same(replaced.drop_columns("subscription"), previewed.drop_columns("subscription"))
