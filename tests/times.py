"""Where the time of a test run went: `python tests/times.py build/times/*.xml` prints what took most."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

MOST = 15


class Timed(NamedTuple):
    """A test, as its file and name, and its seconds with what was set up for it."""

    file: str
    name: str
    seconds: float


def read(path: Path) -> list[Timed]:
    """The tests of a run, as pytest reports them to `--junitxml`."""
    cases = ElementTree.parse(path).iter("testcase")
    return [Timed(case.get("classname", ""), case.get("name", ""), float(case.get("time", 0))) for case in cases]


def most(tests: list[Timed], depth: int) -> list[tuple[str, float]]:
    """What took most, longest first: folders (2), files (9), or tests whatever their parameters (0)."""
    taken: defaultdict[str, float] = defaultdict(float)
    for test in tests:
        parts = test.file.split(".")
        name = ".".join(parts[:depth]) if depth else f"{test.file}: {test.name.partition('[')[0]}"
        taken[name] += test.seconds
    return sorted(taken.items(), key=lambda each: -each[1])[:MOST]


def main(paths: list[Path]) -> None:
    """Print the folders, files and tests of each run."""
    for path in paths:
        tests = read(path)
        print(f"{path.stem}: {len(tests):,} tests, {sum(test.seconds for test in tests):.0f} s in all processes")
        for what, depth in (("folders", 2), ("files", 9), ("tests", 0)):
            print(f"  {what}")
            for name, seconds in most(tests, depth):
                print(f"  {seconds:8.1f}  {name}")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
