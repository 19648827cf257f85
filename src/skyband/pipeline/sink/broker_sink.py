"""Changes as publications at a broker: what has come into a top, or has got another score there, with that score.

A publication has one coordinate, the score, and its id is a JSON list of subscription, publication, run, batch and row.
A batch is published under keys that are made of the run and its number, so that a batch that is delivered again is
there once; what has been delivered is noted, since a broker does not remember keys for ever.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from skyband.broker import BrokerProblem, BrokerRefused
from skyband.pipeline.broker import open_client
from skyband.pipeline.sink.folder import place_json, run_of
from skyband.pipeline.sink.sink import SinkFailed, Staged, reporting

if TYPE_CHECKING:
    from skyband.broker import BrokerClient

FILE = "broker.json"
PUBLISHED = ("enter", "move")
# The broker says so of an id that it has already, which nobody else gives.
LIVE_ALREADY = "is live already"


class BrokerSink:
    """A sink that publishes at one broker."""

    def __init__(self, options: dict[str, Any], private: Path) -> None:
        self._options, self._private = options, private
        self._schema = pa.schema([])
        self._run = ""
        self._client: BrokerClient | None = None

    def open(self, schema: pa.Schema) -> None:
        """Reach the broker, and make sure that it takes points of one coordinate."""
        self._schema, self._run = schema, run_of(self._private)
        self._client = open_client(self._options)
        try:
            self._client.status()
        except BrokerProblem as problem:
            self.close()
            raise SinkFailed(f"The broker sink cannot begin: {problem}") from problem

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Publish what has entered or moved in a batch, unless that was done."""
        assert self._client is not None, "open comes first"
        name = f"The broker sink at {self._options['address']}"
        with reporting(name, batch):
            if batch <= self._last_batch():
                return
            for number, table in enumerate(Staged(staged, n_rows, self._schema).tables()):
                self._publish(name, batch, f"{self._run}.{batch}.{number}", list(self._rows(table)))
            place_json(self._private / FILE, {"batch": batch})

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _publish(self, name: str, batch: int, key: str, rows: list[dict[str, Any]]) -> None:
        assert self._client is not None
        try:
            self._client.publish(rows, key)
        except BrokerRefused as refused:
            others = [row for row in refused.rows if LIVE_ALREADY not in row.reason]
            if others or not refused.rows:
                reason = others[0].reason if others else refused
                raise SinkFailed(
                    f"{name} could not take batch {batch}: {reason} The broker needs the family window with dims: 1. "
                    "Put that right and run again: nothing is lost."
                ) from refused
        except BrokerProblem as problem:
            raise SinkFailed(f"{name} could not take batch {batch}: {problem} Run again: nothing is lost.") from problem

    def _rows(self, table: pa.Table) -> Iterator[dict[str, Any]]:
        names = ("subscription", "publication", "batch", "row", "op", "score")
        for subscription, publication, batch, row, op, score in zip(
            *(table[name].to_pylist() for name in names), strict=True
        ):
            if op in PUBLISHED:
                id = json.dumps([subscription, publication, self._run, batch, row], ensure_ascii=False)
                yield {"id": id, "point": [score]}

    def _last_batch(self) -> int:
        try:
            return int(json.loads((self._private / FILE).read_text(encoding="utf-8"))["batch"])
        except FileNotFoundError:
            return -1
