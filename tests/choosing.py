"""Which tests a run takes: `make test` a part of what costs much, `make soak` the rest of it, and a plain pytest all.

- Of a test that is marked `few(n)`, `make test` takes n parameters, spread evenly, and the soak the others.
- `make test` runs the tests of a room's kernels without the JIT, and compiled where kernels of that room, or those
  that they call, have changed: most of their time goes into compiling (28 of 34 s for polygons), and what they compile
  is also compiled, in larger pieces, by the engines. The soak runs all of them compiled.
- Of any other test of a room, `make test` takes one parameter where neither the room, nor what it is built on, nor its
  tests have changed: then nothing new can be found, and that every engine answers in every mode is tested by the
  contract suite, with fewer examples there. The soak takes the others.
- Of the tests of the pipeline on Spark, those marked `secondary` are other ways to the same end: they are run where the
  pipeline, what carries its rows, or its tests have changed, and by the soak.
- The tests of a room's benchmarks compile what no engine does, and those of the pipeline start Spark several times.
  They are run where that room, or the benchmarks, have changed, and by the soak; others look at toy runs always, but
  for those that compile most, which are run by the same rule.
- Tests marked `changed(folder, ...)` are run where a file of these folders has changed, and by the soak; `make quick`
  takes none of them, so that it stays quick where engines are what changes.
- Without the JIT a test is run for some of its parameters, since it takes several times as long: three for a test of
  kernels, one for any other.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from tests.bench.chosen import asked_for, compiles_much, starts_spark
from tests.changed import changed_files

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "skyband"
MOST_OF_KERNELS, MOST_WITHOUT_JIT, MOST_UNCHANGED = 3, 1, 1
KERNELS = re.compile(r"^(?:from|import) skyband\.((?:\w+\.)?kernels)\b", re.MULTILINE)
BENEATH_ENGINES = ("kernels", "table", "contract", "zoning", "workload", "topk", "covering", "testing")
FAMILIES = ("window", "geotext", "ranges", "ranked")
# The contract suite is not among them: it is run as it is, whatever has changed.
PIPELINE = (
    *(f"src/skyband/{room}/" for room in ("pipeline", "log", "contract", "table", "zoning")),
    *("tests/pipeline/", "tests/log/", "requirements.lock"),
)
secondary = pytest.mark.changed(*PIPELINE)
ROOMS = ("kernels", "table", "zoning", "workload", "topk", "covering", *FAMILIES, "overlay")
T = TypeVar("T")


def spread(some: Sequence[T], n: int) -> list[T]:
    """At most n of these, the first and the last among them, spread evenly."""
    n = min(len(some), n)
    return [some[i * (len(some) - 1) // max(n - 1, 1)] for i in range(n)]


def room_of(path: str) -> str | None:
    """The room whose kernels a test is of, by its path from the root."""
    match path.split("/"):
        case ["tests", room, "kernels", *_]:
            return room
    return None


@cache
def beneath(room: str) -> frozenset[str]:
    """The rooms whose kernels those of a room call, itself among them, as paths within the package."""
    found, rest = set[str](), [f"{room}/kernels/"]
    while rest:
        folder = rest.pop()
        if folder not in found:
            found.add(folder)
            texts = (path.read_text(encoding="utf-8") for path in (PACKAGE / folder).glob("*.py"))
            rest += [f"{name.replace('.', '/')}/" for text in texts for name in KERNELS.findall(text)]
    return frozenset(found)


def has_changed(room: str, changed: set[str] | None) -> bool:
    """Whether kernels of a room, those they call, or tests of them are among these files."""
    places = (f"tests/{room}/kernels/", *(f"src/skyband/{folder}" for folder in beneath(room)))
    return any(path.startswith(places) for path in changed or ())


def places_of_engines(family: str) -> tuple[str, ...]:
    """Where the engines of a family are kept, with all that they are built on and what checks them."""
    return tuple(f"src/skyband/{room}/" for room in (*BENEATH_ENGINES, family))


def places_of_tests(nodeid: str) -> tuple[str, ...]:
    """Where a room, all that its tests may call, and its tests are kept; none for what is no test of a room."""
    match nodeid.split("::")[0].split("/"):
        case ["tests", room, *rest] if room in ROOMS and rest[0] != "kernels":
            # Tests of what is beneath engines open those of every family.
            rooms = (*BENEATH_ENGINES, room) if room in FAMILIES else (*BENEATH_ENGINES, *FAMILIES, room)
            return (f"tests/{room}/", *(f"src/skyband/{each}/" for each in rooms))
    return ()


def benchmarks_of(item: pytest.Item) -> str | None:
    """The room whose benchmarks a test is of; None for one that looks at toy runs alone, which are made in any case."""
    match item.nodeid.split("::")[0].split("/"):
        case ["tests", "bench", file]:
            if any(item.iter_markers("spark")) or any(starts_spark(name) for name in asked_for(item)):
                return "pipeline"
            much = [name.split("-")[0] for name in asked_for(item) if compiles_much(name)]
            if much:
                return much[0]
            room = file.removeprefix("test_").removesuffix(".py")
            return room if (PACKAGE / room).is_dir() and not any(item.iter_markers("toy")) else None
    return None


def places_of_benchmarks(room: str) -> tuple[str, ...]:
    """Where the benchmarks of a room, and what they measure, are kept."""
    folders = (f"{room}/", "bench/", *beneath(room))
    return (f"tests/bench/test_{room}.py", *(f"src/skyband/{folder}" for folder in folders))


@cache
def is_as_it_was(family: str, *tests: str) -> bool:
    """Whether git knows that the engines of a family, all that they are built on, and these tests have not changed."""
    changed, places = changed_files(ROOT), (*places_of_engines(family), *tests)
    return changed is not None and not any(path.startswith(places) for path in changed)


class Choice:
    """What a run in a profile takes."""

    def __init__(self, profile: str, changed: set[str] | None = None) -> None:
        self.profile = profile
        self._changed = changed_files(ROOT) if changed is None and profile in ("quick", "ci") else changed

    def for_soak(self, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """The tests that `make test` leaves to `make soak`."""
        if self.profile not in ("quick", "ci", "soak"):
            return []
        return [item for same in by_test(items) for item in self._rest(same)]

    def _rest(self, same: list[pytest.Item]) -> list[pytest.Item]:
        room = room_of(same[0].nodeid)
        if room is not None:
            return [] if self.profile != "soak" and has_changed(room, self._changed) else same
        few = same[0].get_closest_marker("few")
        if few is None:
            taken = [item for item in same if not any(item.iter_markers("soak"))]
            if self._is_elsewhere(places_of_tests(same[0].nodeid)):
                taken = spread(taken, MOST_UNCHANGED)
            return [item for item in same if item not in taken or self._is_left(item)]
        taken = spread(same, few.args[0])
        return [item for item in same if item not in taken]

    def _is_left(self, item: pytest.Item) -> bool:
        """Whether a test is for some places alone, and is not run."""
        is_named = self.profile == "quick" and any(item.iter_markers("changed"))
        return is_named or self._is_elsewhere(self._places(item))

    @staticmethod
    def _places(item: pytest.Item) -> tuple[str, ...]:
        """The folders and files that a test is run for if they change; none for one that is run in any case."""
        room = benchmarks_of(item)
        named = tuple(place for mark in item.iter_markers("changed") for place in mark.args)
        return named + (places_of_benchmarks(room) if room is not None else ())

    def _is_elsewhere(self, places: tuple[str, ...]) -> bool:
        """Whether a test is for some places alone, and nothing has changed there; to the soak nothing has."""
        changed = () if self.profile == "soak" else self._changed or ()
        return bool(places) and not any(path.startswith(places) for path in changed)

    def left_out(self, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """What a run without the JIT does not take."""
        if self.profile != "coverage":
            return []
        left = []
        for same in by_test(items):
            taken = spread(same, MOST_WITHOUT_JIT if room_of(same[0].nodeid) is None else MOST_OF_KERNELS)
            left += [item for item in same if item not in taken]
        return left


def by_test(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """The tests, those that differ by parameters alone together."""
    found: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[item.nodeid.split("[")[0]].append(item)
    return list(found.values())
