"""How many bytes a row of a file takes, judged by the files that are there."""

import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

# What is assumed of a folder that has no file yet.
TYPICAL = 200.0
N_FILES = 3
N_BYTES = 256 * 1024


def bytes_per_row(folder: Path, format: str, glob: str | None = None) -> float:
    """About how many bytes a row takes on disk, from a few files of the folder."""
    seen = [path for path in sorted(folder.glob(glob or "*")) if path.is_file() and path.name[0] not in "._"]
    judged = [_judge(path, format) for path in seen[:N_FILES]]
    known = [each for each in judged if each is not None]
    return sum(known) / len(known) if known else TYPICAL


def _judge(path: Path, format: str) -> float | None:
    """The bytes a row of one file takes, None where it cannot be told."""
    try:
        if format == "parquet":
            n_rows, n_bytes = pa.parquet.read_metadata(path).num_rows, path.stat().st_size
        else:
            with path.open("rb") as file:
                data = file.read(N_BYTES)
            n_rows, n_bytes = _unpacked(data).count(b"\n"), len(data)
    except (OSError, pa.ArrowException, zlib.error):
        return None
    return n_bytes / n_rows if n_rows else None


def _unpacked(data: bytes) -> bytes:
    # 31: any window, and a header of gzip's.
    return zlib.decompressobj(31).decompress(data) if data.startswith(b"\x1f\x8b") else data
