"""Tables as text for people: columns in line, numbers to the right."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from skyband.table.sieve import Sieve


def show(table: pa.Table) -> None:
    """Print a table, a line a row; what is null is left blank."""
    names = table.column_names
    right = [not pa.types.is_string(field.type) for field in table.schema]
    rows = [["" if cell is None else str(cell) for cell in row.values()] for row in table.to_pylist()]
    print("\n".join(aligned([names, *rows], right)))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Lines of cells padded to the widest of their column; `right` says which columns are set to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if to_the_right else cell.ljust(width)
            for cell, width, to_the_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as Python values, cells of text files among them."""
    sieve = Sieve(table, "rows")
    columns = [sieve.values(name) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
