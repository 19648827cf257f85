"""Scripts: a fixed sequence of verbs, to be run on several engines or in several ways."""

from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from skyband.contract import FAMILIES, AnyEngine
from skyband.workload.draw import Row, draws_of


class Action(NamedTuple):
    """A verb and what it is given."""

    verb: str
    argument: Any


@st.composite
def scripts(draw: st.DrawFn, family: str) -> list[Action]:
    """Subscriptions, publications in batches, time that passes, some retractions; ids that never repeat."""
    actions = [Action("subscribe", draw(_subscriptions(family, 0)))]
    n_published, now = 0, 0
    for turn in range(1, draw(st.integers(2, 6))):
        verbs = ["publish", "publish", "publish", "subscribe", "advance"]
        verb = draw(st.sampled_from([*verbs, "retract"] if FAMILIES[family].has_retractions else verbs))
        if verb == "subscribe":
            actions.append(Action(verb, draw(_subscriptions(family, turn))))
        elif verb == "retract":
            actions.append(Action(verb, draw(st.lists(st.integers(0, n_published), max_size=5))))
        elif verb == "advance":
            now += draw(st.integers(0, 5))
            actions.append(Action(verb, now))
        else:
            rows: list[Row] = []
            for delays, content in draw(draws_of(family).batches(9)):
                ts = now + draw(delays)
                now = max(now, ts)
                rows.append({"id": n_published, "ts": ts} | content)
                n_published += 1
            actions.append(Action(verb, rows))
    return actions


@st.composite
def _subscriptions(draw: st.DrawFn, family: str, turn: int) -> list[Row]:
    rows = draw(st.lists(draws_of(family).subscriptions, min_size=1, max_size=5))
    return [{"id": f"s{turn}.{i}"} | row for i, row in enumerate(rows)]


def run_script(engine: AnyEngine, actions: list[Action], one_by_one: bool = False) -> list[pa.Table]:
    """Run the actions; returns what each answered. `one_by_one` publishes each row as a batch of its own."""
    answers = []
    for action in actions:
        if action.verb == "publish" and one_by_one:
            answers.append(pa.concat_tables([engine.publish([row]).table() for row in action.argument]))
        else:
            answers.append(getattr(engine, action.verb)(action.argument))
    return answers
