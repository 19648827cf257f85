"""This folder looks at skyband from outside: through files and the command line."""

import ast
from pathlib import Path

import pytest


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_nothing_here_imports_skyband(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] == "skyband"]
        assert not [name for name in names if name.startswith("tests.") and not name.startswith("tests.blackbox.")]
