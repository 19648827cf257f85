"""A filter before an engine: it holds back what gates refuse, and hands it over when they widen.

It stands beside the oracle, which gets everything and is asked what publications score and whether they are live.
"""

from collections.abc import Callable

import pyarrow as pa

from skyband.contract import AnyEngine
from skyband.contract.tops import Id
from skyband.testing import Action
from skyband.topk.oracle import ContinuousOracle
from skyband.workload.draw import Row

Gates = dict[Id, float]


def gates_of(table: pa.Table) -> Gates:
    """The gates of a table by subscription."""
    return dict(zip(table["subscription"].to_pylist(), table["gate"].to_pylist(), strict=True))


def gates_from(staircase: pa.Table, at: int | None) -> Gates:
    """The gates that a staircase has for a time: each is that of the last step until then."""
    steps = staircase.to_pylist()
    return {
        step["subscription"]: step["gate"] for step in steps if step["at"] is None or at is None or step["at"] <= at
    }


def rows_of(*tables: pa.Table) -> list[Row]:
    """The rows of tables; an engine that has been spared everything does not know the type of ids yet."""
    return [row for table in tables for row in table.to_pylist()]


class Holding:
    """An engine that is spared what is held back, and the oracle that gets everything; each action goes to both."""

    def __init__(self, home: AnyEngine, oracle: AnyEngine) -> None:
        assert isinstance(oracle, ContinuousOracle)
        self.home, self.oracle = home, oracle
        self._rows: dict[Id, Row] = {}
        self._sent: set[Id] = set()

    def passes(self, row: Row, gates: Gates) -> bool:
        """Whether a publication that the oracle holds is good enough for any gate."""
        content = self.oracle._live[row["id"]].content
        for id, gate in gates.items():
            question = self.oracle._questions[id]
            score = self.oracle._score(question, content)
            if score is not None and (score <= gate if question.ascending else score >= gate):
                return True
        return False

    def held(self) -> list[Row]:
        """What is live and was held back."""
        return [self._rows[id] for id in self.oracle._live if id not in self._sent]

    def hear(self, action: Action) -> pa.Table:
        """The oracle gets everything; answers with its changes."""
        if action.verb == "publish":
            self._rows |= {row["id"]: row for row in action.argument}
        changes: pa.Table = getattr(self.oracle, action.verb)(action.argument)
        return changes

    def hand_over(self, gates: Gates | None = None) -> pa.Table:
        """Publish what was held back and passes the gates, or all of it; answers with the changes of that."""
        rows = [row for row in self.held() if gates is None or self.passes(row, gates)]
        return self.send(rows)

    def send(self, rows: list[Row]) -> pa.Table:
        """Publish rows at the engine."""
        self._sent |= {row["id"] for row in rows}
        return self.home.publish(rows)

    def follow(self) -> pa.Table:
        """Let the time at the engine be that of the oracle."""
        return self.home.advance(self.oracle.now) if self.oracle.now is not None else self.home.publish([])

    def play(self, action: Action, gates_at: Callable[[int | None], Gates]) -> tuple[list[Row], list[Row]]:
        """An action for both; what the engine answers, and what the oracle does.

        What was held back and passes the gates of the time to come is handed over first; before a new question, and
        before something is retracted, all.
        """
        if action.verb in ("subscribe", "retract"):
            handed = self.hand_over()
            return rows_of(handed, getattr(self.home, action.verb)(action.argument)), rows_of(self.hear(action))
        wanted = self.hear(action)
        gates = gates_at(self.oracle.now)
        good = [row for row in self.held() if self.passes(row, gates)]
        new = [row for row in good if action.verb == "publish" and row in action.argument]
        handed = self.send([row for row in good if row not in new])
        return rows_of(handed, self.send(new), self.follow()), rows_of(wanted)


def deliveries(changes: pa.Table) -> set[tuple[Id, Id]]:
    """What entered for the first time."""
    first = changes.filter(changes["first"])
    return set(zip(first["subscription"].to_pylist(), first["publication"].to_pylist(), strict=True))
