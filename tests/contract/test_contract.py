"""The contract suite, for every engine there is."""

import os

import pytest
from hypothesis import settings

from skyband.testing import Case, check_against_oracle, check_determinism, check_splits, contract_cases


def in_one_window(cases: list[Case]) -> list[Case]:
    """Every engine with every option, each in one of the windows in turn; the soak takes all of them."""
    same_but_for_window: dict[object, list[Case]] = {}
    for case in cases:
        same_but_for_window.setdefault((case.engine, case.options), []).append(case)
    return [some[turn % len(some)] for turn, some in enumerate(same_but_for_window.values())]


def in_turn(cases: list[Case]) -> list[Case]:
    """Every engine with every option in every window, by batch and by publication in turn; the soak takes both."""
    by_engine: dict[object, dict[object, list[Case]]] = {}
    for case in cases:
        by_engine.setdefault(case.engine, {}).setdefault((case.options, case.window), []).append(case)
    chosen = []
    for same in by_engine.values():
        for turn, some in enumerate(same.values()):
            chosen += [some[turn % len(some)]] if len(same) > 1 else some
    return chosen


BY_BATCH = in_one_window([case for case in contract_cases() if case.granularity == "batch"])
PROFILE = os.environ.get("SKYBAND_PROFILE")
# Whoever looks for a fault names the case that finds it.
CASES = contract_cases() if PROFILE == "hunt" else in_turn(contract_cases())
# Only there does every single change have to be the same however the stream is split.
BY_PUBLICATION = in_one_window(
    [case for case in contract_cases() if case.granularity == "publication" or case.engine.family == "ranked"]
)


def effort(family: str) -> settings | None:
    """Fewer examples of an engine that is as it was, in `make test`; otherwise as many as the profile says."""
    if PROFILE != "ci":
        return None
    # Whoever looks for a fault runs this where there is no `tests`.
    from tests.choosing import is_as_it_was

    return settings(max_examples=3) if is_as_it_was(family, "tests/contract/") else None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_engine_equals_the_oracle(case: Case) -> None:
    check_against_oracle(case, effort(case.engine.family))


@pytest.mark.parametrize("case", BY_PUBLICATION, ids=str)
def test_how_a_stream_is_split_does_not_matter(case: Case) -> None:
    check_splits(case, effort(case.engine.family))


@pytest.mark.parametrize("case", BY_BATCH, ids=str)
def test_nothing_is_left_to_chance(case: Case) -> None:
    check_determinism(case, effort(case.engine.family))


def test_every_engine_is_checked_in_every_mode_and_window_and_by_both_granularities() -> None:
    chosen, every = in_turn(contract_cases()), contract_cases()
    assert {(case.engine, case.options, case.window) for case in chosen} == {
        (case.engine, case.options, case.window) for case in every
    }
    assert {(case.engine, case.granularity) for case in chosen} == {(case.engine, case.granularity) for case in every}
