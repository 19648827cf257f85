"""The publications of one broker by number, for whoever reads all of them: durable ones, as long as they are kept.

A number stands for the same row however often it is asked for. What was taken back since is told all the same.
"""

from typing import Any

from skyband.broker.driver.driver import Driver
from skyband.broker.driver.naming import id_in
from skyband.broker.port.cursor import Cursor
from skyband.broker.port.line import BadRequest
from skyband.broker.port.standing import cursor_at
from skyband.overlay.broker.origin import Origin

MOST_ROWS = 1000
MOST_BYTES = 4 * 2**20
"""An answer ends after the row with which it has so many."""


async def publications_of(driver: Driver, request: dict[str, Any]) -> dict[str, Any]:
    """Rows from a cursor on, or from the first that is kept, and the cursors of what follows and of the end."""
    most = request.get("most", MOST_ROWS)
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= MOST_ROWS:
        raise BadRequest(f'"most" is a number from 0 to {MOST_ROWS}.')
    number = None if request.get("cursor") is None else _number_in(driver, request["cursor"])
    start, end, rows = await driver.look_durably(lambda broker: _read(broker.origin, number, most))
    if start > end or (most and start < end and not rows):
        raise BadRequest(
            f"{driver.place.name} does not keep its publication {start} any more: publications are to be read within "
            "the horizon of the chart. Begin anew with those that are kept."
        )
    return {"rows": rows, "cursor": cursor_at(driver, start + len(rows)), "end": cursor_at(driver, end)}


def _number_in(driver: Driver, given: object) -> int:
    cursor, name = Cursor.of(given), driver.place.name
    if cursor is None or (cursor.home, cursor.journal) != (name, driver.journal.name):
        raise BadRequest(f"The cursor is not one of {name} with the journal that it has now: begin anew.")
    return cursor.number


def _read(origin: Origin, number: int | None, most: int) -> tuple[int, int, list[dict[str, Any]]]:
    """From where on it is read, the first number that is not durable yet, and rows as far as all of them are kept."""
    end = origin.n_durable + 1
    start = first_kept(origin) if number is None else number
    rows: list[dict[str, Any]] = []
    n_bytes = 0
    for publication in map(origin.own.get, range(start, min(end, start + most))):
        if publication is None or n_bytes > MOST_BYTES:
            break
        n_bytes += publication.size
        rows.append({"number": publication.number, "ts": publication.ts, "row": _plain(publication.row)})
    return start, end, rows


def first_kept(origin: Origin) -> int:
    """The number from which on all durable publications are kept."""
    # One that was taken back just when it expired may be kept a little longer than others.
    gone = (number for number in range(origin.n_durable, 0, -1) if number not in origin.own)
    return next(gone, 0) + 1


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as its client has given it."""
    return {name: value for name, value in row.items() if name != "ts"} | {"id": id_in(row["id"])}
