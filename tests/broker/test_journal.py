"""The journal: groups that are there whole or not at all, a disk that is full for a while, and one holder at a time."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skyband.broker.journal.committer import Committer
from skyband.broker.journal.journal import (
    BrokerJournal,
    JournalError,
    JournalFull,
    KeptRecords,
    TrimmedRecords,
    WrittenRecord,
)


def call(then: list[Callable[[], None]]) -> None:
    """Call all of it."""
    for each in then:
        each()


def test_records_answers_and_time_are_there_again(tmp_path: Path) -> None:
    journal = BrokerJournal(tmp_path)
    name = journal.name
    journal.commit([WrittenRecord(b"a"), WrittenRecord(b"b", "key", {"number": 2}), WrittenRecord(b"c")], 77)
    journal.commit([KeptRecords(2), WrittenRecord(b"d"), TrimmedRecords(1)], 99)
    assert journal.records() == (b"b", b"d")
    journal.close()
    journal = BrokerJournal(tmp_path)
    assert (journal.records(), journal.answers(), journal.until) == ((b"b", b"d"), {"key": {"number": 2}}, 99)
    assert (journal.name, journal.n_records) == (name, 2)
    journal.commit([TrimmedRecords(2)], 100)
    journal.commit([WrittenRecord(b"e")], 101)
    assert journal.records() == (b"e",)
    journal.close()


def test_it_is_held_by_one_broker(tmp_path: Path) -> None:
    journal = BrokerJournal(tmp_path)
    with pytest.raises(JournalError, match="held by another broker"):
        BrokerJournal(tmp_path)
    journal.close()
    BrokerJournal(tmp_path).close()


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"nothing of the kind" * 1000)
    with pytest.raises(JournalError, match="cannot be used"):
        BrokerJournal(tmp_path)


def test_a_group_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    journal = BrokerJournal(tmp_path)
    journal.commit([WrittenRecord(b"first")], 1)
    journal.limit(12)
    with pytest.raises(JournalFull, match="full"):
        journal.commit([WrittenRecord(b"second"), WrittenRecord(b"x" * 200_000)], 2)
    assert (journal.records(), journal.until) == ((b"first",), 1)
    journal.commit([WrittenRecord(b"third")], 3)
    assert journal.records() == (b"first", b"third")
    journal.close()


def test_what_waits_is_written_when_there_is_room(tmp_path: Path) -> None:
    journal, called, done = BrokerJournal(tmp_path), list[str](), threading.Event()
    committer = Committer(journal, lambda: 5, call)
    journal.limit(12)
    committer.start()
    committer.put(WrittenRecord(b"x" * 200_000))

    def durable() -> None:
        called.append("durable")
        done.set()

    committer.sync(durable)
    while not committer.trouble:
        assert not called
    journal.limit(1_000_000)
    assert done.wait(60)
    assert len(journal.records()) == 1
    assert committer.stop()
    assert committer.trouble == ""
    journal.close()


def test_a_stop_does_not_wait_for_room(tmp_path: Path) -> None:
    journal = BrokerJournal(tmp_path)
    committer = Committer(journal, lambda: 5, lambda then: None)
    journal.limit(12)
    committer.start()
    committer.put(WrittenRecord(b"x" * 200_000))
    committer.sync(lambda: None)
    while not committer.trouble:
        pass
    assert not committer.stop()
    journal.close()


def test_groups_are_called_back_in_their_order(tmp_path: Path) -> None:
    journal, called = BrokerJournal(tmp_path), list[int]()

    committer = Committer(journal, lambda: 5, call)
    committer.start()
    for i in range(200):
        committer.put(WrittenRecord(str(i).encode()))
        committer.sync(lambda i=i: called.append(i))  # type: ignore[misc]
    assert committer.stop()
    assert journal.records() == tuple(str(i).encode() for i in range(200))
    assert called == sorted(called)
    assert journal.n_commits <= 201
    journal.close()
