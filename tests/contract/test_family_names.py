"""No source compares the name of a family outside of its own room: what a family is, its descriptor says."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import skyband
from skyband.contract.family import FAMILIES

SOURCES = Path(skyband.__file__).parent
# One is a setting as well, and a key of its own in configurations and files; the other is a strategy of brokers too.
AMBIGUOUS = {"window", "covering"}


def names_in(node: ast.AST) -> set[str]:
    """The families that a string, or a list, tuple, set or keys of a dict of strings, names."""
    if isinstance(node, ast.Constant):
        return {node.value} & set(FAMILIES) if isinstance(node.value, str) else set()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {name for each in node.elts for name in names_in(each) if isinstance(each, ast.Constant)}
    if isinstance(node, ast.Dict):
        return {name for each in node.keys if isinstance(each, ast.Constant) for name in names_in(each)}
    return set()


def told_apart(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """The lines at which families are told apart by name, with the names."""
    for node in ast.walk(tree):
        found: set[str] = set()
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_search = any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
            found = set().union(*(names_in(side) for side in (node.comparators if is_search else sides)))
        elif isinstance(node, ast.MatchValue):
            found = names_in(node.value)
        elif isinstance(node, ast.Dict):
            found = names_in(node)
            found = set() if found <= AMBIGUOUS else found
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            found = names_in(node) if len(names_in(node)) > 1 else set()
        if found:
            yield getattr(node, "lineno", 0), found


def breaches(path: Path, text: str) -> list[str]:
    """Where a source tells families apart that are not that of its room."""
    room = path.parts[0]
    found = ((line, names - {room}) for line, names in told_apart(ast.parse(text)))
    return [f"{path}:{line}: {', '.join(sorted(names))}" for line, names in found if names]


@pytest.mark.parametrize(
    "planted",
    [
        'if family == "ranked":\n    pass',
        'assert "geotext" != family',
        'x = 1 if config.family in ("window", "geotext") else 2',
        'x = family not in {"covering"}',
        'RUNNABLE = ["window", "ranges"]',
        'make = {"ranges": 1}[family]',
        'match family:\n    case "window":\n        pass',
        'match family:\n    case "window" | "geotext":\n        pass',
    ],
)
def test_a_name_that_is_compared_is_found(planted: str) -> None:
    assert breaches(Path("pipeline/planted.py"), f"def f(family):\n    {planted.replace(chr(10), chr(10) + '    ')}")


@pytest.mark.parametrize(
    "harmless",
    [
        'engine = skyband.open("geotext", "scan")',
        'settings = {"window": [1, 2], "bounds": None}',
        'is_there = "window" in rows._fields',
        'FAMILY, ENGINE = "geotext", "scan"',
        'family = FAMILIES["ranges"]',
    ],
)
def test_a_name_that_is_given_is_not(harmless: str) -> None:
    assert not breaches(Path("demo/planted.py"), harmless)


def test_a_room_may_compare_its_own_name() -> None:
    text = 'is_ours = family == "ranked"'
    assert breaches(Path("window/planted.py"), text) != []
    assert breaches(Path("ranked/planted.py"), text) == []


def test_families_are_told_apart_in_their_own_rooms_alone() -> None:
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        found += breaches(path.relative_to(SOURCES), path.read_text(encoding="utf-8"))
    assert found == [], "ask the Family what it has, can and needs"
