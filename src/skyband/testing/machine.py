"""The state machine: any sequence of verbs, compared with the oracle after every step."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skyband.contract import FAMILIES, AnyEngine, Tops
from skyband.table.answer_rows import table_of_answer
from skyband.testing.case import Case
from skyband.testing.data import IDS
from skyband.testing.limit import time_limit
from skyband.testing.thread import eager
from skyband.workload.draw import draws_of

# What every engine of a family counts alike.
COUNTED = ("publications", "late", "rejected", "retracted", "retracted_late", "enter", "leave", "move", "delivery")


def check_against_oracle(case: Case, profile: settings | None = None) -> None:
    """Run the state machine for a case."""

    class Machine(ContractMachine):
        def __init__(self) -> None:
            super().__init__(case)

    class Updated(UpdateMachine):
        def __init__(self) -> None:
            super().__init__(case)

    class WithRetractions(RetractMachine):
        def __init__(self) -> None:
            super().__init__(case)

    family = FAMILIES[case.engine.family]
    more = Updated if draws_of(family.name).updates is not None else Machine
    with eager():
        run_state_machine_as_test(WithRetractions if family.has_retractions else more, settings=profile)


def same(got: Any, wanted: Any) -> None:
    """Assert that two answers are equal, showing both where they are not."""
    if not len(got) and not len(wanted) and got.schema == wanted.schema:
        return
    got, wanted = table_of_answer(got), table_of_answer(wanted)
    assert got.schema == wanted.schema, f"{got.schema}\n\n{wanted.schema}"
    assert got.equals(wanted), "\n".join(["", *map(str, got.to_pylist()), "wanted", *map(str, wanted.to_pylist())])


class ContractMachine(RuleBasedStateMachine):
    """An engine and the oracle, driven alike."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.family = FAMILIES[case.engine.family]
        self.draws = draws_of(self.family.name)
        self.engine = case.open()
        self.oracle = case.open_oracle()
        self.tops = Tops()
        self.registered: list[Any] = []
        self.published: list[Any] = []

    @initialize(subscriptions=st.sampled_from(sorted(IDS)), publications=st.sampled_from(sorted(IDS)))
    def choose_ids(self, subscriptions: str, publications: str) -> None:
        self.subscription_ids = st.sampled_from(IDS[subscriptions])
        self.publication_ids = st.sampled_from(IDS[publications])

    def both(self, verb: str, *arguments: Any) -> None:
        def describe() -> str:
            return f"{self.case}: {verb}{arguments}, after what is shown above"

        with time_limit(describe):
            got = getattr(self.engine, verb)(*arguments)
        wanted = getattr(self.oracle, verb)(*arguments)
        same(got, wanted)
        if "op" in got.column_names:
            self.tops.apply(got)
        assert self.engine.rejects == self.oracle.rejects

    @rule(data=st.data())
    def subscribe(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(self.draws.subscriptions, min_size=1, max_size=4))
        rows = [{"id": data.draw(self.subscription_ids)} | row for row in rows]
        self.both("subscribe", rows)
        for row in rows:
            if row["id"] not in self.registered:
                self.registered.append(row["id"])

    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        now = self.oracle.now or 0
        rows = []
        for delays, content in data.draw(self.draws.batches(8)):
            ts = now + data.draw(delays)
            now = max(now, ts)
            rows.append({"id": data.draw(self.publication_ids), "ts": ts} | content)
        self.both("publish", rows)
        self.published += [row["id"] for row in rows if row["id"] not in self.published]

    @precondition(lambda self: self.registered)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.registered), min_size=1, max_size=3))
        self.both("unsubscribe", ids)
        self.registered = [id for id in self.registered if id not in ids]

    @precondition(lambda self: self.registered and self.family.has_k)
    @rule(data=st.data(), k=st.integers(1, 6))
    def resize(self, data: st.DataObject, k: int) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.registered), min_size=1, max_size=3))
        self.both("resize", ids, k)

    @rule(later=st.integers(0, 6))
    def advance(self, later: int) -> None:
        self.both("advance", (self.oracle.now or 0) + later)

    @rule(also_the_oracle=st.booleans())
    def snapshot_and_restore(self, also_the_oracle: bool) -> None:
        self.engine = through_snapshot(self.engine)
        if also_the_oracle:
            self.oracle = through_snapshot(self.oracle)

    @invariant()
    def answers_are_the_oracles(self) -> None:
        self.engine.check()
        assert self.engine.now == self.oracle.now
        assert self.engine.n_subscriptions == self.oracle.n_subscriptions
        for counter in COUNTED:
            assert self.engine.counters.get(counter, 0) == self.oracle.counters.get(counter, 0), counter
        shown, wanted = (self.draws.shown(each, self.registered[:1]) for each in (self.engine, self.oracle))
        for table, its_twin in zip(shown, wanted, strict=True):
            same(table, its_twin)
        if not self.family.answers_stand:
            return
        top = self.engine.top()
        same(top, self.oracle.top())
        same(self.engine.top(self.registered[:1]), self.oracle.top(self.registered[:1]))
        told = {id: self.tops.of(id) for id in self.tops.subscriptions()}
        held: dict[Any, dict[Any, float]] = {}
        for row in top.to_pylist():
            held.setdefault(row["subscription"], {})[row["publication"]] = row["score"]
        assert told == held


class UpdateMachine(ContractMachine):
    """One more verb, for families that have it: a rule that others never take would thin out theirs."""

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        assert self.draws.updates is not None
        ids = st.sampled_from([*self.registered, data.draw(self.subscription_ids)])
        rows = data.draw(st.lists(self.draws.updates, min_size=1, max_size=3))
        self.both("update", [{"id": data.draw(ids)} | row for row in rows])


class RetractMachine(ContractMachine):
    """One more verb, for families whose publications may be withdrawn."""

    @rule(data=st.data(), every=st.booleans())
    def retract(self, data: st.DataObject, every: bool) -> None:
        ids = st.sampled_from(self.published) if self.published else self.publication_ids
        self.both("retract", self.published if every else data.draw(st.lists(ids, max_size=4)))

    @rule(data=st.data())
    def retract_one(self, data: st.DataObject) -> None:
        self.both("retract", data.draw(self.publication_ids))


def through_snapshot(engine: AnyEngine) -> AnyEngine:
    """The engine that comes back from a snapshot of this one."""
    with tempfile.TemporaryDirectory() as folder:
        engine.snapshot(Path(folder) / "snapshot")
        restored = type(engine).restore(Path(folder) / "snapshot", threads=engine.threads)
    packed = type(engine).from_bytes(engine.to_bytes(), engine.settings, threads=engine.threads)
    assert packed.to_bytes() == restored.to_bytes(), "A snapshot in bytes is not that in a folder."
    restored.rejects = list(engine.rejects)
    return restored
