"""NDJSON that is still being written: whole lines as they come, from a file that grows or from a stream."""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from skyband.table import Reading, Reject, UnreadableFile, shorten
from skyband.table.text_file import read_ndjson

BYTES_AT_ONCE = 1 << 16
# How long to wait before looking again, in seconds.
TICK = 0.1

Stopped = Callable[[], bool]


def file_bytes(path: Path, stopped: Stopped) -> Iterator[bytes]:
    """What a file holds and what is added to it, until somebody asks to stop."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise UnreadableFile(f"There is no file {path}.") from None
    with file:
        while not stopped():
            if some := file.read(BYTES_AT_ONCE):
                yield some
            elif os.fstat(file.fileno()).st_size < file.tell():
                raise UnreadableFile(f"{path} has become shorter while it was followed.")
            else:
                time.sleep(TICK)


def stream_bytes(read: Callable[[], bytes], stopped: Stopped) -> Iterator[bytes]:
    """What a stream brings, until it ends or somebody asks to stop; `read` waits for some, and has none at the end."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def pump() -> None:
        some = True
        while some:
            found = read()
            some = bool(found)
            waiting.put(found)

    # A thread waits in its place: what only waits can be asked to stop.
    threading.Thread(target=pump, daemon=True).start()
    while not stopped():
        try:
            some = waiting.get(timeout=TICK)
        except queue.Empty:
            continue
        if not some:
            # The last line may lack its end.
            yield b"\n"
            return
        yield some


def readings(chunks: Iterator[bytes], most: int, stopped: Stopped) -> Iterator[Reading]:
    """Whole lines as tables, at most so many at a time, numbered from the first of all; one without its end waits."""
    rest, n_before = b"", 0
    for some in chunks:
        *lines, rest = (rest + some).split(b"\n")
        for start in range(0, len(lines), most):
            if stopped():
                return
            part = lines[start : start + most]
            reading = _read(part, n_before)
            n_before += len(part)
            if len(reading.row_numbers) or reading.rejects:
                yield reading


def _read(lines: list[bytes], n_before: int) -> Reading:
    if not n_before:
        lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
    good, rejects = [], []
    for number, line in enumerate(lines, 1):
        try:
            line.decode()
            good.append(line)
        except UnicodeDecodeError:
            rejects.append(Reject(number, "", shorten(line.decode(errors="replace")), "the line is not UTF-8"))
            good.append(b"")
    read = read_ndjson(b"\n".join(good))
    rejects = [reject._replace(row=reject.row + n_before) for reject in sorted([*rejects, *read.rejects])]
    return Reading(read.table, rejects, read.row_numbers + n_before)
