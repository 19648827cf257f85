"""The contract suite, for every engine there is."""

import pytest

from skyband.testing import Case, check_against_oracle, check_determinism, check_splits, contract_cases

BY_BATCH = [case for case in contract_cases() if case.granularity == "batch"]
# Only there does every single change have to be the same however the stream is split.
BY_PUBLICATION = [
    case for case in contract_cases() if case.granularity == "publication" or case.engine.family == "ranked"
]


@pytest.mark.parametrize("case", contract_cases(), ids=str)
def test_engine_equals_the_oracle(case: Case) -> None:
    check_against_oracle(case)


@pytest.mark.parametrize("case", BY_PUBLICATION, ids=str)
def test_how_a_stream_is_split_does_not_matter(case: Case) -> None:
    check_splits(case)


@pytest.mark.parametrize("case", BY_BATCH, ids=str)
def test_nothing_is_left_to_chance(case: Case) -> None:
    check_determinism(case)
