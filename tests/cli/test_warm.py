"""`skyband warm` compiles what is taken when no engine is named."""

import os

import pytest

from skyband.contract import AUTO, FAMILIES, engines
from skyband.replay.warm import Task, Warmed, sample, tasks_of, together, warm, warm_one
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


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("n_processes", [1, 2, 5, 6, 100])
def test_a_process_takes_a_whole_family_unless_there_are_more_of_them(n_processes: int, every: bool) -> None:
    tasks = tasks_of(list(FAMILIES), every)
    parts = together(tasks, n_processes)
    assert sorted(task for part in parts for task in part) == sorted(tasks)
    if n_processes > len(FAMILIES):
        assert {len(part) for part in parts} == {1}
    else:
        assert sorted(list({task.family for task in part}) for part in parts) == [[name] for name in sorted(FAMILIES)]
        assert [len(part) for part in parts] == sorted(map(len, parts), reverse=True)


def test_several_processes_compile_everything_and_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.replay.warm.warm_one", pretend)
    told = list[tuple[int, int]]()
    warmed = warm(list(FAMILIES), 2, lambda done, of: told.append((done, of)))
    n = len(tasks_of(list(FAMILIES)))
    assert [each[:2] for each in warmed] == sorted(tasks_of(list(FAMILIES)))
    assert told == [(i, n) for i in range(1, n + 1)]
    # Each process has taken whole families.
    assert len({(each.family, each.seconds) for each in warmed}) == len(FAMILIES)
    monkeypatch.setattr("skyband.replay.warm.warm_one", fail)
    with pytest.raises(ValueError, match="cannot be compiled"):
        warm(list(FAMILIES), 2)


def pretend(task: Task, every: bool) -> Warmed:
    """Compile nothing, and say which process did it."""
    return Warmed(*task, float(os.getpid()))


def fail(task: Task, every: bool) -> Warmed:
    """Compile nothing."""
    raise ValueError(f"{task.engine} cannot be compiled")
