"""Reading CSV: every cell stays text, however long, and a row that cannot be one is set aside."""

import io
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from skyband.kernels.array import Bools
from skyband.table.cell import marked
from skyband.table.reject import Reject, UnreadableFile, short_name, shorten
from skyband.table.text_file import Reading

# A cell as pyarrow reads one: quoted from its first character on, or up to the next comma or line end.
_CELL = rb'(?:"[^"]*+(?:""[^"]*+)*+"|)[^,\r\n]*+'
_HEADER = re.compile(rb"[\r\n]*+(" + _CELL + rb"(?:," + _CELL + rb")*+)")


def read_csv(data: bytes, name: str) -> Reading:
    """A CSV file with a header; every cell stays text until a family says what it should be."""
    names = _header(data, name)
    rejects: list[Reject] = []

    def set_aside(row: Any) -> str:
        reason = f"the row has {row.actual_columns} cells where the header has {row.expected_columns}"
        rejects.append(Reject(row.number - 1, "", shorten(row.text), reason))
        return "skip"

    try:
        table = _parse(data, names, set_aside)
    except pa.ArrowInvalid as error:
        raise UnreadableFile(f"{name} is not a readable CSV file: {error}.") from None
    table = pa.Table.from_arrays(table.columns, schema=pa.schema([marked(column, "csv") for column in names]))
    numbers = np.arange(1, table.num_rows + len(rejects) + 1)
    reading = Reading(table, rejects, np.delete(numbers, [reject.row - 1 for reject in rejects]))
    return _without_nul(reading) if b"\0" in data else reading


def _header(data: bytes, name: str) -> list[str]:
    """The names of the columns; Python's own reader would refuse long ones, by a limit that all its users share."""
    if data.count(b'"') % 2:
        raise UnreadableFile(f"{name} has a quotation mark that is never closed.")
    found = _HEADER.match(data.removeprefix(b"\xef\xbb\xbf"))
    line = found[1] if found else b""
    if not line:
        raise UnreadableFile(f"{name} is empty; a CSV file begins with a header that names its columns.")
    if b"\0" in line:
        raise UnreadableFile(f"{name} has NUL bytes in its header: it may be UTF-16, and should be UTF-8.")
    read = pa.csv.ReadOptions(use_threads=False, block_size=len(line) + 2)
    names: list[str] = pa.csv.read_csv(
        io.BytesIO(line + b"\n"), read_options=read, parse_options=pa.csv.ParseOptions(newlines_in_values=True)
    ).column_names
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise UnreadableFile(f'{name} has two columns named "{short_name(twice)}".')
    return names


def _parse(data: bytes, names: list[str], set_aside: Any) -> pa.Table:
    # Rows are numbered for the handler only without threads; a large block keeps long rows whole.
    read = pa.csv.ReadOptions(use_threads=False, block_size=min(max(len(data) + 2, 1 << 20), 1 << 30))
    return pa.csv.read_csv(
        io.BytesIO(data + b"\n"),
        read_options=read,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=set_aside),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )


def _without_nul(reading: Reading) -> Reading:
    """Without the rows that hold a NUL byte, which a file has where it was not written to its end, or is no text."""
    bad: Bools = np.zeros(reading.table.num_rows, np.bool_)
    rejects = list(reading.rejects)
    for field, column in zip(reading.table.schema, reading.table.columns, strict=True):
        at = pc.fill_null(pc.match_substring(column, "\0"), False).to_numpy()
        for row in np.flatnonzero(at & ~bad).tolist():
            cell = shorten(column[row].as_py())
            rejects.append(Reject(int(reading.row_numbers[row]), field.name, cell, "the cell holds a NUL byte"))
        bad |= at
    return Reading(reading.table.filter(pa.array(~bad)), sorted(rejects), reading.row_numbers[~bad])
