"""Explanations and previews, for every engine there is."""

import pytest

from skyband.contract import FAMILIES
from skyband.testing import Case, check_explanations, contract_cases
from tests.contract.test_contract import effort, in_one_window

CASES = [
    case
    for case in in_one_window(contract_cases())
    if FAMILIES[case.engine.family].explainer is not None and FAMILIES[case.engine.family].answers_stand
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_explanations_are_the_oracles(case: Case) -> None:
    check_explanations(case, effort(case.engine.family))
