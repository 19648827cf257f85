"""Contests with peers that need no package, and with one that answers wrongly."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.peers import __main__ as program
from bench.peers.answer import Answer
from bench.peers.contest import OURS, experiment, shown
from bench.peers.package import Here, Package, Programs, Unavailable, complaint, run
from bench.peers.page import markdown
from bench.peers.peer import Peer, peers
from bench.peers.systems.brute import PEERS as BRUTE
from bench.peers.systems.brute import NumpyFences, NumpyIntervals, NumpyMessages, NumpyNearest
from bench.peers.systems.postgres import PlainSql
from bench.peers.work import WORKS
from skyband.bench import Row, load, rows_of, store


def quiet(said: str) -> None:
    """Progress that nobody reads."""


def toy(*chosen: type[Peer]) -> list[Row]:
    """The rows of these peers, all of one work, at size toy."""
    return experiment(WORKS[chosen[0].work], chosen, 1).run("toy", quiet)


@pytest.mark.parametrize("peer", BRUTE, ids=lambda peer: str(peer.work))
def test_brute_force_answers_as_skyband_does(peer: type[Peer]) -> None:
    ours, theirs = toy(peer)
    assert (ours["algorithm"], theirs["algorithm"]) == (OURS, "numpy")
    assert ours["skipped"] is theirs["skipped"] is None
    assert len(ours["latencies"]) == len(theirs["latencies"]) > 0
    found = theirs["measures"]
    assert found["ratio"] == pytest.approx(found["seconds"] / found["ours"])
    assert found["recall"] == 1.0
    wanted = {"work", "peer", "version", "n_subscriptions", "batch", "threads", "lacks"}
    assert wanted <= theirs["parameters"].keys()


def test_postgres_answers_as_skyband_does_and_tells_who_has_changed() -> None:
    try:
        PlainSql.package.fetch()
    except Unavailable as error:
        pytest.skip(str(error))
    told: list[int] = []

    class Counted(PlainSql):
        def close(self) -> None:
            told.append(self.told)
            super().close()

    _, theirs = toy(Counted)
    assert theirs["skipped"] is None
    # Ten of a hundred points are new, so that somebody's top has changed, and nobody is told who is not registered.
    assert 0 < told[0] <= theirs["parameters"]["n_subscriptions"]


def moved(answer: Answer) -> Answer:
    """The same answer, with a neighbour of the last item in its place."""
    item = answer.item.copy()
    item[-1] += 1 if item[-1] == 0 else -1
    return answer._replace(item=item)


class WrongNearest(NumpyNearest):
    """One item is another one."""

    def top(self) -> Answer:
        return moved(super().top())


class WrongMessages(NumpyMessages):
    """One item is another one."""

    def top(self) -> Answer:
        return moved(super().top())


class WrongIntervals(NumpyIntervals):
    """One item is another one."""

    def top(self) -> Answer:
        return moved(super().top())


class WrongFences(NumpyFences):
    """One item is another one."""

    def top(self) -> Answer:
        return moved(super().top())


@pytest.mark.parametrize("peer", [WrongNearest, WrongMessages, WrongIntervals, WrongFences])
def test_a_planted_wrong_answer_is_found_and_not_timed(peer: type[Peer]) -> None:
    (row,) = toy(peer)
    assert row["latencies"] == []
    assert row["skipped"].startswith(f"Wrong: {peer.work}, numpy: the answers differ in 1 of")


class LateWrong(NumpyNearest):
    """Right until it has been timed."""

    n_asked = 0

    def top(self) -> Answer:
        self.n_asked += 1
        return super().top() if self.n_asked == 1 else moved(super().top())


def test_what_goes_wrong_later_is_found_too() -> None:
    (row,) = toy(LateWrong)
    assert row["skipped"].startswith("Wrong: ")


class Broken(NumpyNearest):
    """A peer that fails when it is to be compared."""

    def top(self) -> Answer:
        raise MemoryError("There is no room.")


def test_a_peer_that_fails_keeps_nobody_else_from_being_measured() -> None:
    broken, ours, theirs = toy(Broken, NumpyNearest)
    assert broken["skipped"] == "Failed: MemoryError: There is no room."
    assert ours["skipped"] is theirs["skipped"] is None


class Approximate(WrongNearest):
    """One item is another one, and it says that this may happen."""

    exact = False


def test_the_recall_of_an_approximate_peer_is_measured() -> None:
    ours, theirs = toy(Approximate)
    assert 0.99 < theirs["measures"]["recall"] < 1.0
    headers, (cells,) = experiment(WORKS["window"], [Approximate], 1).table(shown([ours, theirs]))
    assert dict(zip(headers, cells, strict=True))["answers"] == f"{theirs['measures']['recall']:.2%} found"


class Nowhere(Package):
    """What cannot be had."""

    def fetch(self) -> str:
        raise Unavailable("Nobody has it.")


class Absent(NumpyNearest):
    """A peer whose package cannot be had."""

    package = Nowhere()


def test_a_peer_without_its_package_is_listed_with_the_reason() -> None:
    absent, ours, theirs = toy(Absent, NumpyNearest)
    assert absent["skipped"] == "Skipped: Nobody has it."
    assert [ours["algorithm"], theirs["algorithm"]] == [OURS, "numpy"]


class Lengthy(NumpyNearest):
    """A peer that takes as long as it says."""

    n_closed = 0

    def close(self) -> None:
        type(self).n_closed += 1


def test_a_size_that_would_take_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    scales = {"toy": WORKS["window"].scales["toy"]._replace(ns=(20, 1_000_000), patience=1e-3)}
    monkeypatch.setattr(type(WORKS["window"]), "scales", scales)
    ours, theirs, skipped = toy(Lengthy)
    assert (ours["skipped"], theirs["skipped"]) == (None, None)
    assert skipped["parameters"]["n_subscriptions"] == 1_000_000
    assert skipped["skipped"].startswith("Skipped: a batch would take about")
    assert Lengthy.n_closed == 1


def test_peers_are_found_and_say_what_they_lack() -> None:
    found = peers()
    assert set(BRUTE) < set(found)
    assert {peer.work for peer in found} == set(WORKS)
    assert len({(peer.work, peer.name) for peer in found}) == len(found)
    assert all(peer.lacks for peer in found)


def test_packages_that_are_not_there_say_so() -> None:
    with pytest.raises(Unavailable, match=r"^no-such-package is not installed"):
        Here("no-such-package").fetch()
    with pytest.raises(Unavailable, match="Debian's package thing has them"):
        Programs(("no-such-program",), "/no/such/folder", "thing").fetch()
    with pytest.raises(Unavailable, match=r"^thing cannot be had: no-such-program is not installed"):
        run(["no-such-program"], "thing")


def test_a_program_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = tmp_path / "builder"
    builder.write_text("#!/bin/sh\necho 'error: https://a.b/c is not available' >&2\nexit 1\n")
    builder.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Unavailable, match=r"^server cannot be had: error: its address is not available\.$"):
        run(["builder"], "server")


def test_a_complaint_is_the_line_that_says_most() -> None:
    assert complaint("Trying\nERROR: no matching distribution\n[hint]\n") == "ERROR: no matching distribution."
    assert complaint("") == "no reason was given."


def test_the_command_stores_rows_and_says_what_was_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["--work", "window", "--size", "toy", "--json", "--out", str(tmp_path)]
    monkeypatch.setattr(program, "peers", lambda: [NumpyNearest, NumpyFences])
    done = CliRunner().invoke(program.command, given)
    assert done.exit_code == 0
    (told,) = json.loads(done.stdout)
    assert told["wrong"] == []
    assert [peer["peer"] for peer in told["peers"]] == ["numpy"]
    assert {"work", "version", "n_subscriptions", "batch", "seconds", "ours", "ratio"} <= told["peers"][0].keys()
    assert [row["algorithm"] for row in rows_of(load(tmp_path))] == [OURS, "numpy"]
    monkeypatch.setattr(program, "peers", lambda: [WrongNearest])
    done = CliRunner().invoke(program.command, given)
    assert done.exit_code == 1
    assert "Wrong: " in json.loads(done.stdout)[0]["wrong"][0]


def test_a_page_shows_the_newest_rows_of_a_size(tmp_path: Path) -> None:
    for chosen in ([NumpyNearest, Absent], [NumpyNearest]):
        store(toy(*chosen), tmp_path)
    table = markdown(tmp_path, [NumpyNearest], "toy").splitlines()
    assert [line.split(" | ")[:3] for line in table[2:]] == [["| window", "20", "numpy"]]
    assert table[2].split(" | ")[7] == "the same"
    assert len(markdown(tmp_path, [NumpyNearest], "small").splitlines()) == 2


def test_the_command_lists_peers() -> None:
    done = CliRunner().invoke(program.command, ["--list", "--work", "geotext", "--peer", "lucene"])
    assert done.exit_code == 0
    assert "Lucene Monitor" in done.stdout
    refused = CliRunner().invoke(program.command, ["--peer", "nobody"])
    assert refused.exit_code == 2
    assert "there is no such peer" in refused.stderr
