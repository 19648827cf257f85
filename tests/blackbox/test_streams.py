"""Every engine that the command line lists, against brute force, on seeded streams in files of every format."""

import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.command import Commands, Done, run_alone
from tests.blackbox.files import FORMATS, read_log, read_rows, write_rows
from tests.blackbox.oracle import Change, Row, retracts
from tests.blackbox.sliding import Sliding
from tests.blackbox.stream import Stream
from tests.blackbox.streams import MAKERS, ever_farther, with_retractions

pytestmark = pytest.mark.jit_only

# Engines whose answers may differ from the contract's, as their page says.
INEXACT = {("window", "pa")}
# As many as there are formats of files.
SEEDS = range(len(FORMATS))
# Each stream is a process: thousands of them are for the suite that is within one.
SOAK_SEEDS = [*range(6), *range(1000, 1000 + int(os.environ.get("SKYBAND_SOAK_OUTSIDE", "10")))]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """One warm process for all commands of this file."""
    running = Commands(tmp_path_factory.mktemp("printed"))
    yield running
    running.close()


@cache
def engines() -> list[tuple[str, str]]:
    """Family and name of every engine, by the command that lists them."""
    listed = run_alone(Path.cwd(), "engines", "--json").document()
    return [(each["family"], each["engine"]) for each in listed]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each engine its tests, whichever engines there are."""
    if "engine" in metafunc.fixturenames:
        wanted = getattr(metafunc.function, "families", tuple(MAKERS))
        metafunc.parametrize(("family", "engine"), [each for each in engines() if each[0] in wanted])


def words(folder: Path, stream: Stream, engine: str, fmt: str = "ndjson") -> list[object]:
    """The arguments that replay a stream, whose files are written first."""
    publications = write_rows(folder / f"publications.{fmt}", stream.publications)
    subscriptions = write_rows(folder / f"subscriptions.{fmt}", stream.subscriptions)
    named = ["--publications", publications, "--subscriptions", subscriptions, "--engine", engine]
    return [stream.family, *named, *stream.options(), "--json"]


def warm(commands: Commands, folder: Path, family: str, engine: str) -> None:
    """Load what an engine needs, which may be compiled first, with a stream too short to be hard."""
    stream = MAKERS[family](0)
    stream.publications = stream.publications[:20]
    commands.warm(f"{family} {engine}", "replay", *words(folder, stream, engine))


def replayed(commands: Commands, folder: Path, stream: Stream, engine: str, fmt: str) -> tuple[Done, list[Change]]:
    """The change log of a stream; an engine that never ends fails here, with its files named."""
    log = folder / "log.parquet"
    log.unlink(missing_ok=True)
    done = commands.run("replay", *words(folder, stream, engine, fmt), "--out", log)
    assert done.code == 0, done.describe()
    return done, read_log(log)


def difference(got: list[Change], wanted: list[Change]) -> str:
    """The first row in which two change logs differ."""
    for i, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
        if mine != theirs:
            return f"row {i + 1} is {mine} and should be {theirs}"
    return f"there are {len(got)} rows and should be {len(wanted)}"


@lru_cache(maxsize=200)
def expected(family: str, seed: int) -> list[Change]:
    """The change log of a seeded stream, which is the same for all engines."""
    return MAKERS[family](seed).expected()


def check_seed(commands: Commands, folder: Path, family: str, engine: str, seed: int) -> None:
    """Hold an engine against brute force on a seeded stream."""
    stream = MAKERS[family](seed)
    check(commands, folder, stream, engine, expected(family, seed), FORMATS[seed % len(FORMATS)])


def check(
    commands: Commands, folder: Path, stream: Stream, engine: str, wanted: list[Change], fmt: str = "ndjson"
) -> None:
    """Hold an engine against brute force, row for row, or by what even an inexact one promises."""
    done, got = replayed(commands, folder, stream, engine, fmt)
    if (stream.family, engine) in INEXACT:
        check_tops(stream, got)
        return
    assert got == wanted, f"{difference(got, wanted)}\n{done.describe()}"
    n_retractions = sum(map(retracts, stream.publications))
    document = done.document()
    assert document["n_publications"] == len(stream.publications) - n_retractions
    assert document["n_retracted"] + document["n_retracted_late"] == n_retractions


def check_tops(stream: Stream, log: list[Change]) -> None:
    """Changes add up to tops of at most k, of publications that are there, with their own scores."""
    state = stream.state()
    assert isinstance(state, Sliding)
    for publication in stream.publications:
        state.arrive(publication)
    asked = {each["id"]: each.get("k") or 1 for each in stream.subscriptions}
    tops: defaultdict[Any, set[Any]] = defaultdict(set)
    for i, (name, member, op, score, *_) in enumerate(log):
        assert (member in tops[name]) == (op == "leave"), f"row {i + 1}"
        assert score == state.places[name, member][2], f"row {i + 1}"
        tops[name] ^= {member}
        assert len(tops[name]) <= asked[name], f"row {i + 1}"


def test_engines_equal_brute_force(commands: Commands, tmp_path: Path, family: str, engine: str) -> None:
    warm(commands, tmp_path, family, engine)
    for seed in SEEDS:
        check_seed(commands, tmp_path, family, engine, seed)


@pytest.mark.soak
def test_engines_equal_brute_force_for_long(commands: Commands, tmp_path: Path, family: str, engine: str) -> None:
    warm(commands, tmp_path, family, engine)
    for seed in SOAK_SEEDS:
        (tmp_path / "seed.txt").write_text(str(seed))
        check_seed(commands, tmp_path, family, engine, seed)


@pytest.mark.few(3)
def test_retractions_equal_brute_force(commands: Commands, tmp_path: Path, family: str, engine: str) -> None:
    warm(commands, tmp_path, family, engine)
    for seed in SEEDS:
        stream = with_retractions(family, seed)
        check(commands, tmp_path, stream, engine, expected_with_retractions(family, seed), FORMATS[seed % len(FORMATS)])


test_retractions_equal_brute_force.families = ("window", "geotext")  # type: ignore[attr-defined]  # read when tests are made


@lru_cache(maxsize=200)
def expected_with_retractions(family: str, seed: int) -> list[Change]:
    """The change log of a stream with retractions, which is the same for all engines."""
    return with_retractions(family, seed).expected()


@pytest.mark.few(8)
def test_each_farther_than_the_last(commands: Commands, tmp_path: Path, family: str, engine: str) -> None:
    warm(commands, tmp_path, family, engine)
    stream = ever_farther(family)
    check(commands, tmp_path, stream, engine, stream.expected())


test_each_farther_than_the_last.families = ("window", "geotext")  # type: ignore[attr-defined]  # read when tests are made


@pytest.mark.few(8)
def test_tops_at_an_instant(commands: Commands, tmp_path: Path, family: str, engine: str) -> None:
    if (family, engine) in INEXACT:
        pytest.skip("This engine may be wrong, as its page says.")
    warm(commands, tmp_path, family, engine)
    check_instant(commands, tmp_path, MAKERS[family](5), engine)
    if family != "ranges":
        check_instant(commands, tmp_path, with_retractions(family, 5), engine)


def comes_again(name: Any, rows: list[Row], at: int) -> bool:
    """Whether an id is published again by rows that tell a time up to the instant."""
    return any(row["id"] == name and not retracts(row) and row["ts"] <= at for row in rows)


def check_instant(commands: Commands, tmp_path: Path, stream: Stream, engine: str) -> None:
    """Hold the tops at an instant against brute force: a retraction without a time is as late as all before it."""
    at = sorted(each["ts"] for each in stream.publications if each.get("ts") is not None)[60] + 1
    state, now = stream.state(), -(2**63)
    for i, publication in enumerate(stream.publications):
        ts = publication.get("ts")
        now = now if ts is None else max(now, ts)
        if (now if ts is None else ts) <= at:
            state.arrive(publication)
            state.advance(-(2**63) if ts is None else ts)
        elif retracts(publication) and comes_again(publication["id"], stream.publications[i:], at):
            state.arrive(publication)
    state.advance(at)
    arguments = [word for word in words(tmp_path, stream, engine) if word != "--granularity"]
    arguments.remove(stream.granularity)
    commands.run("top", *arguments, "--at", at, "--out", tmp_path / "tops.ndjson").document()
    wanted = [
        {"subscription": each["id"], "rank": rank, "publication": member, "score": score}
        for each in stream.subscriptions
        for rank, (member, score) in enumerate(state.top(each), 1)
    ]
    assert read_rows(tmp_path / "tops.ndjson") == wanted


test_tops_at_an_instant.families = ("window", "geotext", "ranges")  # type: ignore[attr-defined]  # read when tests are made


def test_a_process_of_its_own_tells_the_same(tmp_path: Path) -> None:
    stream = MAKERS["window"](3)
    log = tmp_path / "log.ndjson"
    run_alone(tmp_path, "replay", *words(tmp_path, stream, "scan"), "--out", log).document()
    assert read_log(log) == stream.expected()
