"""The contract suite: what every exact engine must do, checked against the oracle on data that collides on purpose.

Engines are discovered, so a new one is tested as soon as it is registered. A project with engines of its own runs the
same suite:

    @pytest.mark.parametrize("case", contract_cases(), ids=str)
    def test_contract(case):
        check_against_oracle(case)
"""

from skyband.testing.case import Case, contract_cases
from skyband.testing.explained import check_explanations
from skyband.testing.machine import check_against_oracle
from skyband.testing.property import check_determinism, check_splits
from skyband.testing.script import Action, run_script, scripts
from skyband.testing.stream import check_stream, make_stream

__all__ = [
    "Action",
    "Case",
    "check_against_oracle",
    "check_determinism",
    "check_explanations",
    "check_splits",
    "check_stream",
    "contract_cases",
    "make_stream",
    "run_script",
    "scripts",
]
