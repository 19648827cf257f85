"""Segments that were torn or damaged: whole batches are left or an error is told, never wrong records."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.log import Log, UnreadableLog
from tests.log.logs import BATCHES, filled, segments, texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the log of a test lies."""
    return tmp_path / "log"


def test_the_last_block_cut_at_any_byte_leaves_whole_batches(folder: Path) -> None:
    sizes = filled(folder, ["a", "b"], ["ccc"], ["d" * 20, "", "e"])
    whole = segments(folder)[0].read_bytes()
    records = ["a", "b", "ccc", "d" * 20, "", "e"]
    for size in range(len(whole) + 1):
        segments(folder)[0].write_bytes(whole[:size])
        n_kept = [0, 2, 3, 6][sum(size >= bound for bound in sizes)]
        reader = Log(folder)
        assert texts(reader) == records[:n_kept]
        with Log(folder) as log:
            assert log.append(["new"]) == n_kept
        assert texts(Log(folder)) == [*records[:n_kept], "new"]
        assert texts(reader) == [*records[:n_kept], "new"]


def test_a_last_block_of_full_length_that_fails_its_checksum_is_torn(folder: Path) -> None:
    sizes = filled(folder, ["a", "b"], ["ccc", "d"])
    whole = segments(folder)[0].read_bytes()
    for place in range(sizes[0], sizes[1]):
        content = bytearray(whole)
        content[place] ^= 255
        segments(folder)[0].write_bytes(content)
        assert texts(Log(folder)) == ["a", "b"]
    with Log(folder) as log:
        assert log.append(["new"]) == 2
    assert texts(Log(folder)) == ["a", "b", "new"]


@given(BATCHES.filter(lambda batches: any(batches)), st.integers(1, 3), st.data())
def test_a_torn_tail_leaves_a_prefix_of_whole_batches(
    batches: list[list[str]], blocks: int, data: st.DataObject
) -> None:
    batches = [batch for batch in batches if batch]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [0, *filled(folder, *batches, blocks=blocks)]
        *before, last = segments(folder)
        content = last.read_bytes()
        # What had not reached the disk reads as anything, mostly zeros; only the last block may be so.
        start = sizes[-2] - sum(segment.stat().st_size for segment in before)
        cut = data.draw(st.integers(start, len(content)))
        lost = data.draw(st.integers(0, len(content) - cut))
        last.write_bytes(content[:cut] + data.draw(st.just(bytes(lost)) | st.binary(min_size=lost, max_size=lost)))
        is_whole = last.read_bytes() == content
        kept = list(itertools.chain.from_iterable(batches if is_whole else batches[:-1]))
        assert texts(Log(folder)) == kept
        with Log(folder, segment_blocks=blocks) as log:
            assert log.append(["new"]) == len(kept)
            log.append(["newer"])
        assert texts(Log(folder)) == [*kept, "new", "newer"]


@given(BATCHES.filter(lambda batches: sum(map(bool, batches)) > 1), st.integers(1, 3), st.data())
def test_a_changed_byte_never_gives_wrong_records(batches: list[list[str]], blocks: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, *batches, blocks=blocks)
        damaged = data.draw(st.sampled_from(segments(folder)))
        content = bytearray(damaged.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        damaged.write_bytes(content)
        told = ""
        kept: list[str] = []
        try:
            kept = texts(Log(folder))
        except UnreadableLog as error:
            told = str(error)
        # Only in the last block can it not be told from a torn write.
        last = next(batch for batch in reversed(batches) if batch)
        assert str(damaged) in told or kept == list(itertools.chain.from_iterable(batches))[: -len(last)]


@pytest.mark.parametrize("place", range(0, 64, 4))
def test_damage_in_the_middle_names_the_segment(folder: Path, place: int) -> None:
    filled(folder, ["a", "b"], ["c"], ["d"])
    segment = segments(folder)[0]
    content = bytearray(segment.read_bytes())
    content[place] ^= 1
    segment.write_bytes(content)
    log = Log(folder)
    with pytest.raises(UnreadableLog, match=f"The segment {segment} of the log is damaged: "):
        log.read(0)


def test_a_missing_segment_is_damage(folder: Path) -> None:
    filled(folder, ["a"], ["b"], ["c"], blocks=1)
    segments(folder)[1].unlink()
    with pytest.raises(UnreadableLog, match="it ends before record 1, but the next one begins with record 2"):
        Log(folder).read(0)
    assert texts(Log(folder), 2) == ["c"]


def test_a_segment_in_the_place_of_another_is_damage(folder: Path) -> None:
    filled(folder, ["a"], ["b"], blocks=1)
    first, last = segments(folder)
    last.write_bytes(first.read_bytes())
    with pytest.raises(UnreadableLog, match=f"{last} of the log is damaged: .* begins with record 0 instead of 1"):
        Log(folder).read(0)


def test_a_torn_segment_before_the_last_is_damage(folder: Path) -> None:
    filled(folder, ["a"], ["b"], blocks=1)
    first = segments(folder)[0]
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(UnreadableLog, match=f"The segment {first} of the log is damaged"):
        Log(folder).read(0)


def test_a_segment_that_was_only_begun_does_not_hide_the_last_batch(folder: Path) -> None:
    with Log(folder, segment_blocks=1) as log:
        log.append_batch(4, ["a"])
    (folder / f"{1:020}.log").write_bytes(b"\xffSKY")
    assert (Log(folder).end, Log(folder).last_batch) == (1, 4)
    with Log(folder, segment_blocks=1) as log:
        assert not log.append_batch(4, ["a"])
        assert log.append_batch(5, ["b"])
    assert texts(Log(folder)) == ["a", "b"]
