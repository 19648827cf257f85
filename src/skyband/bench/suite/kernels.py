"""The structures alone: id map, heap and slots, each beside what Python or numpy has for the same work."""

import heapq
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.figure import Plot
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, make_heap
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import Slots

SIZES: dict[Size, tuple[int, ...]] = {
    "toy": (100,),
    "small": (10_000, 100_000, 1_000_000),
    "full": (10_000, 100_000, 1_000_000, 5_000_000),
}
ROUNDS: dict[Size, int] = {"toy": 2, "small": 5, "full": 5}
K = 20

Calls = dict[str, Callable[[int], Any]]


@kernel
def offer_all(heap: Heap, keys: Floats, k: int) -> int:
    """Offer every key to the heap, its place as its stamp, and sort what is kept."""
    n = 0
    for i in range(len(keys)):
        n = heap_push(heap, n, k, keys[i], -i, i)
    heap_sort(heap, n)
    return n


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every structure at every number of entries."""
    random = np.random.default_rng(0)
    for n in SIZES[size]:
        progress(f"{n:,} entries")
        for contest in (_adding, _finding, _selecting, _taking):
            yield from contest(n, ROUNDS[size], random)


def _rows(structure: str, operation: str, n: int, n_rounds: int, calls: Calls, n_bytes: dict[str, float]) -> list[Row]:
    taken = time_in_turn(calls, n_rounds)
    parameters = {"structure": structure, "operation": operation, "n": n, "k": K}
    contest = f"{structure}, {operation}, {n}"
    return [
        measured(contest, name, parameters, taken[name], n, {"bytes": n_bytes[name]} if name in n_bytes else {})
        for name in calls
    ]


def _adding(n: int, n_rounds: int, random: np.random.Generator) -> list[Row]:
    ids, slots = _some_ids(n, random)
    plain, numbers = ids.to_pylist(), slots.tolist()
    n_bytes = {"IdMap": float(_mapped(ids, slots).n_bytes), "dict": _dict_bytes(dict(zip(plain, numbers, strict=True)))}
    calls: Calls = {
        "IdMap": lambda turn: _mapped(ids, slots),
        "dict": lambda turn: _filled(plain, numbers),
    }
    return _rows("id map", "add", n, n_rounds, calls, n_bytes)


def _finding(n: int, n_rounds: int, random: np.random.Generator) -> list[Row]:
    ids, slots = _some_ids(n, random)
    sought = ids.take(pa.array(random.permutation(n)))
    plain = sought.to_pylist()
    mapped, filled = _mapped(ids, slots), _filled(ids.to_pylist(), slots.tolist())
    calls: Calls = {"IdMap": lambda turn: mapped.find(sought), "dict": lambda turn: [filled[id] for id in plain]}
    _require(calls["IdMap"](0).tolist() == calls["dict"](0), "id map")
    return _rows("id map", "find", n, n_rounds, calls, {})


def _some_ids(n: int, random: np.random.Generator) -> tuple[pa.Array, Int64s]:
    return pa.array([f"subscription-{i}" for i in random.permutation(n)]), np.arange(n, dtype=np.int64)


def _mapped(ids: pa.Array, slots: Int64s) -> IdMap:
    idmap = IdMap()
    idmap.add(ids, slots)
    return idmap


def _filled(ids: list[str], slots: list[int]) -> dict[str, int]:
    # One by one, as ids that come in a stream would be.
    filled: dict[str, int] = {}
    for id, slot in zip(ids, slots, strict=True):
        filled[id] = slot
    return filled


def _dict_bytes(filled: dict[str, int]) -> float:
    return float(sys.getsizeof(filled) + sum(sys.getsizeof(id) + sys.getsizeof(n) for id, n in filled.items()))


def _selecting(n: int, n_rounds: int, random: np.random.Generator) -> list[Row]:
    keys, heap = random.random(n), make_heap(K)
    plain = keys.tolist()
    calls: Calls = {
        "heap": lambda turn: heap.keys[: offer_all(heap, keys, K)].tolist(),
        "heapq.nsmallest": lambda turn: heapq.nsmallest(K, plain),
        "numpy.argpartition": lambda turn: np.sort(keys[np.argpartition(keys, K)[:K]]).tolist(),
    }
    _require(len({tuple(call(0)) for call in calls.values()}) == 1, "heap")
    return _rows("heap", f"best {K}", n, n_rounds, calls, {})


def _taking(n: int, n_rounds: int, random: np.random.Generator) -> list[Row]:
    slots, kinds, order = Slots(), np.zeros(n, np.int8), random.permutation(n)
    free = list(range(n - 1, -1, -1))
    _require(sorted(_list_round(free, order)) == sorted(_slots_round(slots, kinds, order)), "slots")
    calls: Calls = {
        "Slots": lambda turn: _slots_round(slots, kinds, order),
        "list": lambda turn: _list_round(free, order),
    }
    n_bytes = {
        "Slots": float(slots.used.nbytes + slots.kinds.nbytes + 8 * n),
        "list": float(sys.getsizeof(free) + 32 * n),
    }
    return _rows("slots", "take, give", n, n_rounds, calls, n_bytes)


def _slots_round(slots: Slots, kinds: Int8s, order: Int64s) -> list[int] | Int64s:
    taken = slots.take(kinds)
    slots.give(taken[order])
    return taken


def _list_round(free: list[int], order: Int64s) -> list[int]:
    taken = [free.pop() for _ in range(len(order))]
    for i in order.tolist():
        free.append(taken[i])
    return taken


def _require(equal: bool, what: str) -> None:
    if not equal:
        raise WrongAnswer(f"{what}: the answers differ.")


def _bytes_each(row: Row, first: Row) -> str:
    return number(row["measures"]["bytes"] / row["parameters"]["n"]) if "bytes" in row["measures"] else ""


def _line(row: Row) -> str:
    return f"{row['parameters']['structure']}, {row['parameters']['operation']}: {row['algorithm']}"


BENCHMARK = Benchmark(
    name="kernels",
    summary="The id map, the heap and the slots alone, beside a dict, heapq, numpy and a list.",
    measure=measure,
    columns=(
        Column("structure", lambda row, first: row["parameters"]["structure"]),
        Column("operation", lambda row, first: row["parameters"]["operation"]),
        Column("entries", lambda row, first: f"{row['parameters']['n']:,}"),
        Column("what", lambda row, first: row["algorithm"]),
        Column("ns each", lambda row, first: number(ns_per_operation(row))),
        Column("ratio", ratio),
        Column("bytes each", _bytes_each),
    ),
    plots=(Plot("each", "Structures alone", "n", "entries", ns_per_operation, "ns for an entry", _line),),
)
