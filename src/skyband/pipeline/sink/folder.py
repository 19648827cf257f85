"""Folders that sinks write to: files appear in them whole and durably, and a folder belongs to one run."""

import base64
import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from skyband.log.segment import sync_folder
from skyband.pipeline.sink.sink import differing, reason
from skyband.table.write import replacing

CLAIM = ".skyband.json"


class Claim(NamedTuple):
    """What a folder is for: which run writes it, in what format, and with which columns."""

    run: str
    format: str
    schema: pa.Schema


@contextlib.contextmanager
def placing(target: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place at the target, to stay there, if the block ends well."""
    with replacing(target) as temporary, temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    sync_folder(target.parent)


def linked(source: Path, target: Path) -> bool:
    """Give a file that is on the disk a second name, in place of what was there; says whether that could be done.

    Nothing is copied. It takes a file system that knows links and holds both names.
    """
    try:
        with replacing(target) as temporary:
            os.link(source, temporary)
    except OSError:
        return False
    sync_folder(target.parent)
    return True


def place_json(target: Path, document: Any) -> None:
    """Write a JSON document in place of what was there."""
    with placing(target) as file:
        file.write(json.dumps(document).encode())


@contextlib.contextmanager
def preparing(folder: Path) -> Iterator[None]:
    """Turn what the operating system refuses before any batch into a ValueError."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be written: {reason(error)}.") from None


def run_of(private: Path) -> str:
    """The name of the run that a private folder belongs to, made up the first time it is asked for."""
    path = private / "run"
    with preparing(private):
        if not path.exists():
            private.mkdir(parents=True, exist_ok=True)
            with placing(path) as file:
                file.write(secrets.token_hex(16).encode())
        return path.read_text().strip()


def claim_folder(folder: Path, claim: Claim) -> None:
    """Make a folder ready for a run; a ValueError says why it cannot be used."""
    with preparing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        found = read_claim(folder)
        if found is None:
            _refuse_foreign(folder)
            place_json(folder / CLAIM, _as_json(claim))
            return
    if found.format != claim.format:
        raise ValueError(f"The folder {folder} holds {found.format}, not {claim.format}; choose another folder.")
    differences = differing(claim.schema, found.schema)
    if differences:
        raise ValueError(f"The folder {folder} holds other columns ({'; '.join(differences)}); choose another folder.")
    if found.run != claim.run:
        raise ValueError(
            f"The folder {folder} was written by a run with another state folder, whose batches have the same "
            "numbers; choose another folder, or empty this one with its hidden files."
        )


def read_claim(folder: Path) -> Claim | None:
    """What a folder is for, None if no sink has claimed it."""
    try:
        document = json.loads((folder / CLAIM).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(document["schema"])))
    return Claim(document["run"], document["format"], schema)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of writers that were killed."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def _refuse_foreign(folder: Path) -> None:
    foreign = next((path.name for path in sorted(folder.iterdir()) if not path.name.startswith(".")), None)
    if foreign is not None:
        raise ValueError(f"The folder {folder} holds {foreign}, which no sink wrote; choose an empty folder.")


def _as_json(claim: Claim) -> dict[str, str]:
    schema = base64.b64encode(claim.schema.remove_metadata().serialize()).decode()
    return {"run": claim.run, "format": claim.format, "schema": schema}
