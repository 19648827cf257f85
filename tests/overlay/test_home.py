"""The home of subscriptions: its steps, and the same steps again from a disk that has only those that matter."""

from typing import Any

from skyband.overlay.broker.home import Home, HomeStep
from skyband.table import Settings

NEAR = {"id": 1, "k": 1, "score": "euclidean", "point": [0.0], "window_us": 25}


def home() -> Home:
    return Home("window", "scan", Settings(), 100, {})


def step(at: int, since: int, **parts: Any) -> HomeStep:
    given: dict[str, Any] = {name: [] for name in ("handed", "came", "begins", "ends", "retracted", "forgone")}
    return HomeStep(at, since=since, **(given | parts))


STEPS = [
    step(10, 0, begins=[NEAR]),
    step(20, 10, came=[{"id": 7, "ts": 15, "point": [2.0]}, {"id": 8, "ts": 16, "point": [3.0]}]),
    step(30, 20),
    step(40, 30, handed=[{"id": 9, "ts": 22, "point": [5.0]}]),
    step(45, 40),
    step(46, 45, ends=[1]),
]


def test_time_passes_before_what_comes_in_a_step() -> None:
    one = home()
    rows = [one.take(each) for each in STEPS]
    assert [[(row[1], row[2], row[5]) for row in some] for some in rows] == [
        [],
        [(7, "enter", 20)],
        [],
        [(7, "leave", 40), (8, "enter", 40)],
        [(8, "leave", 45), (9, "enter", 45)],
        [(9, "leave", 45)],
    ]
    assert one.n_handed_changes == 0
    assert [number for number, _ in one.changes] == list(range(one.n_changes))
    assert one.changes_from(4) == one.changes[4:]


def test_steps_in_which_nothing_happens_may_be_missing() -> None:
    """Time passes to the step before, as it did the first time: what is left has the same times and numbers."""
    one, again = home(), home()
    for each in STEPS:
        rows = one.take(each)
        if rows or not each.is_empty:
            again.take(each)
    assert again.changes == one.changes
    one, again = home(), home()
    for each in (*STEPS[:4], step(44, 40), step(44, 44, ends=[1])):
        rows = one.take(each)
        if rows or not each.is_empty:
            again.take(each)
    assert again.changes == one.changes
    assert again.changes[-1][1][5] == 44


def test_a_home_without_subscriptions_costs_nothing() -> None:
    one = home()
    assert one.take(step(10, 0)) == []
    assert not one.has_engine
    assert one.top() == []
