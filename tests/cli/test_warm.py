"""`skyband warm` compiles what is taken when no engine is named."""

import pytest

from skyband.contract import FAMILIES
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
