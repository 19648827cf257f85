"""The examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import skyband

FOLDER = Path(skyband.__file__).parent
WITH_EXAMPLES = [path for path in sorted(FOLDER.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_examples_of_a_module(path: Path) -> None:
    parts = path.relative_to(FOLDER).with_suffix("").parts
    module = importlib.import_module(".".join(("skyband", *parts)).removesuffix(".__init__"))
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


def test_the_first_things_that_people_meet_have_examples() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in WITH_EXAMPLES}
    assert {"__init__.py", "contract/engine.py", "table/settings.py", "table/answer.py"} <= found
