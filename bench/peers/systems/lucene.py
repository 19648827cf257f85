"""Lucene Monitor: stored queries for words, which are found by an index of their terms."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers.answer import Answer, matched
from bench.peers.package import MavenArtifact
from bench.peers.peer import Peer
from bench.peers.systems.duckdb_query import in_words
from bench.peers.work import integers
from skyband.bench.runner import WrongAnswer

MONITOR = MavenArtifact(
    "org.apache.lucene", "lucene-monitor", "9.11.1", Path(__file__).resolve().with_name("MonitorPeer.java")
)
LONGEST_END_SECONDS = 10


class Monitor(Peer):
    """Who shares a word with a message, one message at a time, in a process of Java that is given lines of text."""

    name = "Lucene Monitor"
    work = "geotext"
    package = MONITOR
    lacks = "only who shares a word: no place, no k, no window, no first answer; forgets every message"
    at_once = 1

    def __init__(self, course: Any) -> None:
        super().__init__(course)
        command = ["java", "-Xmx4g", "-XX:+UseSerialGC", "-cp", MONITOR.class_path]
        command += ["MonitorPeer", str(self.at_once)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.wanted = in_words(subscriptions)
        self._tell(_lines("subscribe", subscriptions) + "\nend\n")
        self._read()

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), _lines("message", batch) + "\nend\n"

    def publish(self, prepared: Any) -> None:
        self.ids, lines = prepared
        self._tell(lines)
        self.found = self._read()

    def _tell(self, lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(lines)
        self.process.stdin.flush()

    def _read(self) -> list[str]:
        assert self.process.stdout is not None
        found = []
        while (line := self.process.stdout.readline()) != "end\n":
            if not line:
                raise RuntimeError("The process of Lucene Monitor has ended.")
            found.append(line)
        return found

    def top(self) -> Answer:
        rows = [np.array(line.split(), dtype=np.int64) for line in self.found]
        asker = np.repeat(self.ids, [len(row) for row in rows])
        return matched(asker, np.concatenate(rows))

    def expected(self, ours: Answer, batch: pa.Table) -> Answer:
        """Who shares a word, from the data; whoever has a message of the batch in the top has to be among them."""
        said = in_words(batch).select(["id", "term"]).rename_columns(["message", "term"])
        pairs = said.join(self.wanted.select(["id", "term"]), "term", join_type="inner").select(["message", "id"])
        each = pairs.group_by(["message", "id"]).aggregate([])
        shared = matched(integers(each["message"]), integers(each["id"]))
        there = set(zip(shared.asker.tolist(), shared.item.tolist(), strict=True))
        new = np.isin(ours.item, integers(batch["id"]))
        if not there.issuperset(zip(ours.item[new].tolist(), ours.asker[new].tolist(), strict=True)):
            raise WrongAnswer("geotext: a message is in the top of somebody who shares no word with it.")
        return shared

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(LONGEST_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def _lines(verb: str, table: pa.Table) -> str:
    """A line for each row: a verb, the id, and the words."""
    rows = zip(table["id"].to_pylist(), table["terms"].to_pylist(), strict=True)
    return "\n".join(f"{verb} {id} {' '.join(terms)}" for id, terms in rows)


class MonitorBatches(Monitor):
    """The messages of a batch in one index, so that a query that several of them may match is run once."""

    name = "Lucene Monitor, batches"
    at_once = 100


PEERS = (Monitor, MonitorBatches)
