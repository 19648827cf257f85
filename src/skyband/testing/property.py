"""Properties of whole scripts: how a stream is cut into batches does not matter, and nothing is left to chance."""

from hypothesis import given, settings

from skyband.contract import FAMILIES
from skyband.testing.case import Case
from skyband.testing.machine import same
from skyband.testing.script import Action, run_script, scripts
from skyband.testing.thread import eager


def check_splits(case: Case, profile: settings | None = None) -> None:
    """One batch or one row at a time: the same tops; and by publication, the same changes."""

    @given(scripts(case.engine.family))
    def check(actions: list[Action]) -> None:
        whole, split = case.open("raise"), case.open("raise")
        told_whole = run_script(whole, actions)
        told_split = run_script(split, actions, one_by_one=True)
        if FAMILIES[case.engine.family].answers_stand:
            same(whole.top(), split.top())
        if case.granularity == "publication" or not FAMILIES[case.engine.family].answers_stand:
            for got, wanted in zip(told_whole, told_split, strict=True):
                same(got, wanted)
        assert whole.counters.get("late", 0) == split.counters.get("late", 0)

    with eager():
        (profile(check) if profile else check)()


def check_determinism(case: Case, profile: settings | None = None) -> None:
    """The same script twice, by one thread and by two: the same answers and the same costs."""

    @given(scripts(case.engine.family))
    def check(actions: list[Action]) -> None:
        one, other = case.with_threads(1).open("raise"), case.with_threads(2).open("raise")
        for got, wanted in zip(run_script(one, actions), run_script(other, actions), strict=True):
            same(got, wanted)
        assert one.counters == other.counters

    with eager():
        (profile(check) if profile else check)()
