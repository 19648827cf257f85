"""The runner: turns, warm-up, and no garbage collection meanwhile."""

import gc

import pytest

from skyband.bench.runner import no_collection, time_in_turn


def test_calls_take_turns_and_warm_up_is_not_counted() -> None:
    heard: list[tuple[str, int]] = []
    seen: list[tuple[str, int, object]] = []

    def say(name: str, turn: int) -> str:
        heard.append((name, turn))
        return name * turn

    taken = time_in_turn(
        {"a": lambda turn: say("a", turn), "b": lambda turn: say("b", turn)},
        n_rounds=2,
        after=lambda name, turn, answer: seen.append((name, turn, answer)),
    )
    assert heard == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert [len(spent) for spent in taken.values()] == [2, 2]
    assert all(ns >= 0 for spent in taken.values() for ns in spent)
    assert seen[3] == ("b", 1, "b")


def test_no_garbage_is_collected_while_the_clock_runs() -> None:
    assert gc.isenabled()
    on: list[bool] = []

    def stop(turn: int) -> None:
        on.append(gc.isenabled())
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        time_in_turn({"a": stop}, n_rounds=1)
    assert on == [False]
    assert gc.isenabled()


def test_a_collection_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
