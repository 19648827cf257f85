"""Tops as files: a folder with a base file, the changed tops of each batch since, and a list of both.

A reader begins at the list, `.tops.json`, which is replaced whole. So it sees the tops after some batch, never a
mixture: a file is on the list only once it is there, and goes only once it is off the list.
"""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from skyband.kernels.array import Bools, Int64s
from skyband.log.segment import sync_folder
from skyband.pipeline.sink.folder import Claim, claim_folder, place_json, placing, preparing, read_claim, run_of
from skyband.pipeline.sink.sink import Staged, reporting

FORMAT = "parquet tops"
LIST = ".tops.json"
COMPACT_EVERY = 100
# A list is out of date only if two or more compactions end while a reader opens what it names.
MOST_TRIES = 20


class Listed(NamedTuple):
    """The files that hold the tops after a batch: later ones overrule earlier ones."""

    batch: int = -1
    files: tuple[str, ...] = ()


class TopFiles:
    """A sink that writes the changed tops of each batch, and every so many batches all tops anew."""

    def __init__(self, folder: Path, private: Path, compact_every: int = COMPACT_EVERY) -> None:
        self._folder = folder
        self._private = private
        self._compact_every = compact_every
        self._schema: pa.Schema | None = None
        self._listed = Listed()

    def open(self, schema: pa.Schema) -> None:
        """Make the folder, or go on with the one of earlier batches; files that are on no list go."""
        claim_folder(self._folder, Claim(run_of(self._private), FORMAT, schema))
        self._schema = schema
        with preparing(self._folder):
            self._listed = _read_list(self._folder)
            self._remove_unlisted()

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Write the changed tops of a batch, unless they are there."""
        if batch <= self._listed.batch:
            return
        Staged(staged, n_rows, self._schema)
        with reporting(f"The parquet sink of tops at {self._folder}", batch):
            name = f"delta-{batch:012d}.parquet"
            with placing(self._folder / name) as file, staged.open("rb") as whole:
                shutil.copyfileobj(whole, file)
            self._list(Listed(batch, (*self._listed.files, name)))
            if len(self._listed.files) > self._compact_every:
                self._compact()

    def close(self) -> None:
        """Do nothing: nothing is kept open between batches."""

    def _compact(self) -> None:
        batch = self._listed.batch
        name = f"base-{batch:012d}.parquet"
        tops = _current(self._folder, self._listed, self._schema)
        with placing(self._folder / name) as file:
            pa.parquet.write_table(tops, file, compression="zstd")
        self._list(Listed(batch, (name,)))
        self._remove_unlisted()

    def _list(self, listed: Listed) -> None:
        place_json(self._folder / LIST, listed._asdict())
        self._listed = listed

    def _remove_unlisted(self) -> None:
        for path in self._folder.glob("*.parquet"):
            if path.name not in self._listed.files:
                path.unlink(missing_ok=True)
        sync_folder(self._folder)


def read_tops(folder: str | Path) -> pa.Table:
    """The current tops in a folder, ordered by subscription and rank."""
    folder = Path(folder)
    claim = read_claim(folder)
    if claim is None or claim.format != FORMAT:
        raise ValueError(f"{folder} is not a folder of tops.")
    for _ in range(MOST_TRIES):
        listed = _read_list(folder)
        try:
            return _current(folder, listed, claim.schema)
        except FileNotFoundError as error:
            missing = error
    raise ValueError(f"The tops in {folder} cannot be read: a file that its list names is missing.") from missing


def _read_list(folder: Path) -> Listed:
    try:
        document = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Listed()
    return Listed(document["batch"], tuple(document["files"]))


def _current(folder: Path, listed: Listed, schema: pa.Schema) -> pa.Table:
    tables = [pa.parquet.ParquetFile(folder / name).read().cast(schema) for name in listed.files]
    whole = pa.concat_tables([schema.empty_table(), *tables])
    ages = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    kept = whole.filter(pa.array(_is_latest(whole["subscription"], ages)))
    # A top that is empty now is one row without a rank, which has overruled the rows before it.
    return kept.filter(pc.is_valid(kept["rank"])).sort_by([("subscription", "ascending"), ("rank", "ascending")])


def _is_latest(subscriptions: pa.ChunkedArray, ages: Int64s) -> Bools:
    """Which rows are of the latest file that tells of their subscription."""
    codes = subscriptions.combine_chunks().dictionary_encode()
    indices = codes.indices.to_numpy(zero_copy_only=False)
    latest = np.zeros(len(codes.dictionary), np.int64)
    np.maximum.at(latest, indices, ages)
    is_latest: Bools = ages == latest[indices]
    return is_latest
