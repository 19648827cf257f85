"""`skyband warm` compiles what is taken when no engine is named."""

import pytest

from skyband.contract import AUTO, FAMILIES, engines
from skyband.replay.warm import Task, sample, tasks_of, warm_one
from tests.cli.calling import document, failure


def test_each_family_has_its_two_engines_or_its_keeper() -> None:
    tasks = tasks_of(list(FAMILIES))
    assert set(tasks) == {
        *(Task(family, "scan") for family in ("window", "geotext", "ranges", "ranked")),
        *(Task("window", "blocks"), Task("geotext", "blocks"), Task("ranges", "paint"), Task("ranked", "scored")),
        Task("covering", "CoverSet"),
    }
    # What takes longest is not left for the end.
    assert [task.engine for task in tasks[-5:]] == ["scan"] * 4 + ["CoverSet"]


def test_all_are_every_engine_that_compiles_anything() -> None:
    tasks = tasks_of(list(FAMILIES), every=True)
    plain = {(family, FAMILIES[family].oracle) for family in FAMILIES} | {(family, AUTO) for family in FAMILIES}
    assert len(tasks) == len(set(tasks))
    assert set(tasks) == {(kind.family, kind.name) for kind in engines()} - plain | {Task("covering", "CoverSet")}
    assert set(tasks) > set(tasks_of(list(FAMILIES)))


def test_a_task_may_take_all_modes_of_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    monkeypatch.setattr("skyband.replay.warm._opened", lambda task, options: taken.append(dict(options)))
    monkeypatch.setattr("skyband.replay.warm._use", lambda *given: None)
    monkeypatch.setattr("skyband.replay.warm._keep", lambda *given: None)
    warm_one(Task("window", "sasf"), in_all_modes=True)
    assert taken == [{}, {}, {"b": 3}, {"b": 3}, {"b": 1}, {"b": 1}, {}]
    warm_one(Task("window", "sasf"))
    assert taken[7:] == [{}, {}]


@pytest.mark.parametrize("task", tasks_of(list(FAMILIES)), ids="-".join)
def test_every_task_does_something_of_everything(task: Task) -> None:
    warmed = warm_one(task)
    assert warmed[:2] == task
    assert warmed.seconds > 0.0
    assert len(sample(task.family).subscriptions) > 5


@pytest.mark.jit_only
def test_the_command_tells_what_was_warmed() -> None:
    told = document("warm", "ranked", "--processes", 1)
    assert [(row["family"], row["engine"]) for row in told] == [("ranked", "scan"), ("ranked", "scored")]
    assert "there is no family" in failure("warm", "nothing", code=2)
