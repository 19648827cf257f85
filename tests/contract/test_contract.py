"""The contract suite, for every engine there is."""

import pytest

from skyband.testing import Case, check_against_oracle, check_determinism, check_splits, contract_cases


def in_one_window(cases: list[Case]) -> list[Case]:
    """Every engine with every option, each in one of the windows in turn; the soak takes all of them."""
    same_but_for_window: dict[object, list[Case]] = {}
    for case in cases:
        same_but_for_window.setdefault((case.engine, case.options), []).append(case)
    return [some[turn % len(some)] for turn, some in enumerate(same_but_for_window.values())]


BY_BATCH = in_one_window([case for case in contract_cases() if case.granularity == "batch"])
# Only there does every single change have to be the same however the stream is split.
BY_PUBLICATION = in_one_window(
    [case for case in contract_cases() if case.granularity == "publication" or case.engine.family == "ranked"]
)


@pytest.mark.parametrize("case", contract_cases(), ids=str)
def test_engine_equals_the_oracle(case: Case) -> None:
    check_against_oracle(case)


@pytest.mark.parametrize("case", BY_PUBLICATION, ids=str)
def test_how_a_stream_is_split_does_not_matter(case: Case) -> None:
    check_splits(case)


@pytest.mark.parametrize("case", BY_BATCH, ids=str)
def test_nothing_is_left_to_chance(case: Case) -> None:
    check_determinism(case)
