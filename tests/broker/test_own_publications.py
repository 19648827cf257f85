"""All publications of a broker, read by number: each once, in order, the same again, and no more when they are gone."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BrokerRefused, PublicationRow
from tests.broker.processes import at, eventually
from tests.broker.threads import asking, chart_of, running


def test_every_publication_is_read_once_and_in_order(tmp_path: Path) -> None:
    chance, chart = random.Random(1), chart_of(tmp_path, ("berlin",), checkpoint=7)
    sent: list[tuple[int, Mapping[str, Any]]] = []
    read: list[PublicationRow] = []
    cursor = None
    for _ in range(3):
        # Another life of the broker goes on with the same numbers.
        with running(chart, "berlin") as (broker,), asking(broker) as client:
            for _ in range(10):
                rows = [at(len(sent) + i, chance.random(), 0.5) for i in range(chance.randrange(1, 5))]
                sent += list(zip((row.ts for row in client.publish(rows)), rows, strict=True))
                if chance.random() < 0.3:
                    client.retract([rows[0]["id"]])
                told = client.publications(cursor, chance.randrange(6))
                assert told == client.publications(cursor, len(told.rows))
                cursor = told.cursor
                read += told.rows
            while told.cursor != told.end:
                told = client.publications(told.cursor)
                read += told.rows
            cursor = told.cursor
    first = read[0].number
    assert [row.number for row in read] == [*range(first, first + len(sent))]
    assert [(row.ts, row.row) for row in read] == sent


def test_what_is_not_kept_any_more_is_told_of(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, ("berlin",), horizon="200ms", grace="200ms", strategy="publication-flooding")
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        (row,) = client.publish([at(1, 0.5, 0.5)])
        eventually(lambda: client.publications().rows == [])
        place, end = client.publications().end.rsplit("/", 1)
        assert int(end) == row.number + 1
        for number in (row.number, int(end) + 1):
            with pytest.raises(BrokerRefused, match=f"does not keep its publication {number} any more"):
                client.publications(f"{place}/{number}")
        assert client.publications(f"{place}/{end}").rows == []


@pytest.mark.parametrize("cursor", ["berlin/00000000/1", "oslo/x/1", "here", "berlin/x"])
def test_cursors_of_others_are_refused(cursor: str, tmp_path: Path) -> None:
    with running(chart_of(tmp_path, ("berlin",)), "berlin") as (broker,), asking(broker) as client:
        with pytest.raises(BrokerRefused, match="not one of berlin with the journal"):
            client.publications(cursor)
        with pytest.raises(BrokerRefused, match="from 0 to 1000"):
            client.publications(None, 1001)


def test_rows_under_a_key_of_ones_own_are_there_once(tmp_path: Path) -> None:
    chart, rows = chart_of(tmp_path, ("berlin",)), [at(number, 0.5, 0.5) for number in range(1200)]
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        done = client.publish(rows, "mine")
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        assert client.publish(rows, "mine") == done
        first, last = client.publications().rows[0].number, int(client.publications().end.rsplit("/", 1)[1])
        assert last - first == len(rows)
