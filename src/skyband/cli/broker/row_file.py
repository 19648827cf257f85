"""Rows of JSON, one in each line, from a file or from standard input."""

import json
from pathlib import Path
from typing import Any, TextIO

from skyband.cli.group import Failure


def read_row_file(file: Path | None, otherwise: TextIO) -> list[dict[str, Any]]:
    """The rows of a file; what is no row is named by its line."""
    where = "standard input" if file is None else str(file)
    try:
        lines = (otherwise.read() if file is None else file.read_text(encoding="utf-8")).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{where} cannot be read: {error}.") from None
    return [_row(line, f"{where}, line {i}") for i, line in enumerate(lines, 1) if line.strip()]


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Failure(f'{where}: a row is a JSON object such as {{"id": 1, "point": [0.5, 0.5]}}.')
    return found
