"""Long streams through every engine: what short scripts do not reach. `make soak` takes thousands of each family."""

import os
import time

import pytest

from skyband.contract import FAMILIES as FAMILIES_BY_NAME
from skyband.contract import engines
from skyband.testing import check_stream, make_stream
from skyband.testing.limit import TimeIsUp, time_limit
from skyband.workload.draw import families_with_streams
from tests.choosing import places_of_engines

FAMILIES = families_with_streams()
N_STREAMS = int(os.environ.get("SKYBAND_SOAK_STREAMS", "10000"))
AT_ONCE = 50
# So many of the first twelve streams are run in any case.
N_ALWAYS = 4


def n_streams(family: str) -> int:
    """All for a family with windows, whose engines keep candidates and refill them; a fifth for others."""
    return N_STREAMS if FAMILIES_BY_NAME[family].has_windows else N_STREAMS // 5


# `auto` hands all that it is told to another engine of its family, and runs one stream of ten.
OWN = {
    family: tuple(kind.name for kind in engines() if kind.family == family and kind.name != "auto")
    for family in FAMILIES
}
MANY = [(family, first) for family in FAMILIES for first in range(0, n_streams(family), AT_ONCE)]


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param(family, seed, marks=() if seed < N_ALWAYS else pytest.mark.changed(*places_of_engines(family)))
        for family in FAMILIES
        for seed in range(12)
    ],
)
def test_every_engine_answers_a_stream_like_the_oracle(family: str, seed: int) -> None:
    assert check_stream(family, seed) > 0


@pytest.mark.soak
@pytest.mark.parametrize(("family", "first"), MANY)
def test_every_engine_answers_many_streams_like_the_oracle(family: str, first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        check_stream(family, seed, rare=True, names=() if seed % 10 == 0 else OWN[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_streams_are_as_hard_as_they_are_meant_to_be(family: str) -> None:
    streams = [make_stream(family, seed) for seed in range(200)]
    sizes = [len(action.argument) for stream in streams for action in stream.actions if action.verb == "publish"]
    asked = [
        row for stream in streams for action in stream.actions if action.verb == "subscribe" for row in action.argument
    ]
    verbs = {action.verb for stream in streams for action in stream.actions}
    assert {1, 3, 9} < set(sizes)
    assert max(sizes) > 100
    assert {1, 80} <= {len(stream.actions[0].argument) for stream in streams}
    assert max(row["k"] for row in asked) > 250
    retracts = {"retract"} if FAMILIES_BY_NAME[family].has_retractions else set()
    assert verbs == {"subscribe", "unsubscribe", "publish", "resize", "advance", "snapshot"} | retracts
    assert make_stream(family, 7) == make_stream(family, 7)


def test_what_never_ends_fails_with_its_input() -> None:
    def hang() -> None:
        with time_limit(lambda: "the input that did it", 0.05):
            while True:
                pass

    with pytest.raises(TimeIsUp, match="the input that did it"):
        hang()


def test_waiting_for_the_processor_is_no_hang() -> None:
    with time_limit(lambda: "never shown", 0.05):
        time.sleep(0.2)
    with pytest.raises(TimeIsUp), time_limit(lambda: "asleep", 0.01):
        time.sleep(5.0)
