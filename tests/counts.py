"""The shape of the sources in numbers: `python tests/counts.py [CHECKOUT ...]` prints a column for each checkout.

Lines and names are counted in the package alone. A comparison of a family counts wherever a source compares with a
family's name, or looks one up in a list or a table of them, outside of that family's own room.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FAMILIES = {"window", "geotext", "ranges", "ranked", "covering"}
LONG_MODULE, LONG_FUNCTION = 400, 60

Trees = dict[Path, ast.Module]


def parsed(checkout: Path) -> Trees:
    """Every source of the package, by its path within it."""
    package = checkout / "src" / "skyband"
    return {path.relative_to(package): ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}


def nodes(trees: Trees, *kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    """The nodes of these kinds in all sources."""
    for path, tree in trees.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, kinds))


def long_functions(trees: Trees) -> list[str]:
    """The functions of more than LONG_FUNCTION lines."""
    found = nodes(trees, ast.FunctionDef, ast.AsyncFunctionDef)
    return [f"{path}:{node.name}" for path, node in found if _n_lines(node) > LONG_FUNCTION]  # type: ignore[attr-defined]


def _n_lines(node: ast.AST) -> int:
    return node.end_lineno - node.lineno + 1  # type: ignore[attr-defined, no-any-return]


def shared_names(trees: Trees) -> dict[str, list[str]]:
    """The names of classes that are used in more than one place, and where; private ones are nobody else's."""
    places: dict[str, list[str]] = {}
    for path, node in nodes(trees, ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        if not node.name.startswith("_"):
            places.setdefault(node.name, []).append(path.as_posix())
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def comparisons(trees: Trees) -> list[str]:
    """Where a source tells families apart by name, outside of their rooms."""
    return [
        f"{path}:{node.lineno}"  # type: ignore[attr-defined]
        for path, node in nodes(trees, ast.Compare, ast.Dict, ast.MatchValue)
        if _names_families(node) - {path.parts[0]}
    ]


def _names_families(node: ast.AST) -> set[str]:
    """The families that a comparison, the keys of a table or a case names."""
    if isinstance(node, ast.Dict):
        named = _texts(*filter(None, node.keys))
        # A column or an option may have the name of a family, but hardly two of them side by side.
        return named if len(named) > 1 else set()
    if isinstance(node, ast.Compare):
        return _texts(node.left, *node.comparators) if _speaks_of_family(node) else set()
    return _texts(node)


def _texts(*given: ast.AST) -> set[str]:
    inside = (node for top in given for node in ast.walk(top) if isinstance(node, ast.Constant))
    return {node.value for node in inside if isinstance(node.value, str)} & FAMILIES


def _speaks_of_family(node: ast.AST) -> bool:
    names = {
        inside.attr if isinstance(inside, ast.Attribute) else getattr(inside, "id", "") for inside in ast.walk(node)
    }
    return any("famil" in name.lower() for name in names)


def rooms_of(trees: Trees, word: str) -> list[str]:
    """The packages, kernels counted with their own, that hold a module named after a family."""
    return sorted({path.parent.as_posix() for path in trees if word in (path.stem, *path.parts[:-1])})


def counts(checkout: Path) -> dict[str, int]:
    """The numbers of a checkout, by what they count."""
    trees = parsed(checkout)
    sources = {path: (checkout / "src" / "skyband" / path).read_text().count("\n") for path in trees}
    bench = [n for path, n in sources.items() if path.parts[0] == "bench"]
    names = shared_names(trees)
    return {
        "modules": len(sources),
        "lines": sum(sources.values()),
        f"modules over {LONG_MODULE} lines": sum(n > LONG_MODULE for n in sources.values()),
        f"functions over {LONG_FUNCTION} lines": len(long_functions(trees)),
        "names that several classes have": len(names),
        "classes with such a name": sum(Counter({name: len(where) for name, where in names.items()}).values()),
        "comparisons of a family's name": len(comparisons(trees)),
        "folders that hold the ranked family": len(rooms_of(trees, "ranked")),
        "modules of bench": len(bench),
        "lines of bench": sum(bench),
    }


def main(checkouts: list[Path]) -> None:
    """Print the numbers side by side."""
    columns = [counts(checkout) for checkout in checkouts]
    for name in columns[0]:
        print(f"{name:40}", *(f"{column[name]:10,}" for column in columns))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or [Path(__file__).resolve().parents[1]])
