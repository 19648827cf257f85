"""Batches of publications in every format, of the same rows, after which the tops are those of the engine alone."""

import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

import skyband
from skyband.bench.row import Row, measured
from skyband.bench.runner import WrongAnswer
from skyband.bench.served_process import ENDLESS, ServedProcess
from skyband.kernels.array import Floats

SEED = 11
K = 10


def body_rows(batch: int, n_batches: int, n_publishers: int, n_asking: int) -> Iterator[Row]:
    """The engine alone, and servers to which several publish at once, so that they share syncs.

    The order of the batches is that in which they come, so the window is one from which nothing leaves.
    """
    chance = np.random.default_rng(SEED)
    tables = [_table(turn, its) for turn, its in enumerate(chance.random((n_batches, batch, 2)))]
    question = [
        {"id": str(i), "k": K, "score": "euclidean", "point": point.tolist()}
        for i, point in enumerate(chance.random((n_asking, 2)))
    ]
    contest = f"bodies of {batch:,}, {n_publishers} publishers, {n_asking:,} subscriptions"
    parameters = {"batch": batch, "n_batches": n_batches, "n_publishers": n_publishers, "n_subscriptions": n_asking}
    with skyband.open("window") as engine:
        engine.subscribe(question)
        began = time.perf_counter_ns()
        taken = [_timed(engine.publish, table) for table in tables]
        yield _row(contest, "engine", parameters, taken, time.perf_counter_ns() - began)
        right = _tops(engine.top([row["id"] for row in question]).to_pylist())
    for name in FORMATS:
        taken, total, tops = _published(name, tables, question, n_publishers)
        if tops != {key: right[key] for key in tops}:
            raise WrongAnswer(f"The server has other tops than the engine alone, after bodies as {name}.")
        yield _row(contest, name, parameters, taken, total)


def _published(
    name: str, tables: list[pa.Table], question: list[dict[str, Any]], n_publishers: int
) -> tuple[list[int], int, dict[str, list[int]]]:
    """How long each batch took, and all of them, and some of the tops in the end."""
    kind, encode = FORMATS[name]
    bodies = [encode(table) for table in tables]
    with tempfile.TemporaryDirectory() as folder, ServedProcess(Path(folder)) as server:
        for start in range(0, len(question), 10_000):
            server.ask("POST", f"{ENDLESS}/subscriptions", json.dumps(question[start : start + 10_000]).encode())
        publishers = [server.connect() for _ in range(n_publishers)]

        def publish(turn: int) -> list[int]:
            mine = bodies[turn::n_publishers]
            return [
                _timed(lambda body: publishers[turn].ask("POST", f"{ENDLESS}/publications", body, kind), b)
                for b in mine
            ]

        began = time.perf_counter_ns()
        with ThreadPoolExecutor(n_publishers) as pool:
            taken = [each for its in pool.map(publish, range(n_publishers)) for each in its]
        total = time.perf_counter_ns() - began
        for each in publishers:
            each.close()
        names = [row["id"] for row in question[:K]]
        tops = {id: server.ask("GET", f"{ENDLESS}/subscriptions/{id}/top")["top"] for id in names}
    return taken, total, {id: [row["publication"] for row in top] for id, top in tops.items()}


def _tops(rows: list[dict[str, Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["subscription"], []).append(row["publication"])
    return found


def _row(contest: str, name: str, parameters: dict[str, Any], taken: list[int], total: int) -> Row:
    rate = parameters["batch"] * len(taken) / (total / 1e9)
    return measured(contest, name, parameters, taken, parameters["batch"], {"rows_per_s": rate})


def _timed(call: Callable[[Any], object], given: Any) -> int:
    began = time.perf_counter_ns()
    call(given)
    return time.perf_counter_ns() - began


def _table(turn: int, points: Floats) -> pa.Table:
    n = len(points)
    ids = np.arange(turn * n, turn * n + n)
    flat = pa.array(points.reshape(-1))
    lists = pa.ListArray.from_arrays(np.arange(0, 2 * n + 1, 2, dtype=np.int32), flat)
    return pa.table({"id": ids, "ts": ids, "point": lists})


def _arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _json(table: pa.Table) -> bytes:
    return json.dumps(table.to_pylist()).encode()


def _ndjson(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())


FORMATS: dict[str, tuple[str, Callable[[pa.Table], bytes]]] = {
    "arrow": ("application/vnd.apache.arrow.stream", _arrow),
    "ndjson": ("application/x-ndjson", _ndjson),
    "json": ("application/json", _json),
}
