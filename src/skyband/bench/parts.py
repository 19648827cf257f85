"""Single parts: the id map, the heap and the slots beside what Python or numpy has, and the readers of rows."""

import heapq
import importlib.util
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.experiment import Progress
from skyband.bench.row import Row, skipped
from skyband.bench.runner import Call, WrongAnswer, race
from skyband.contract.reading import ReadRows, read_publications
from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, make_heap
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import Slots
from skyband.table import write_table
from skyband.window import workload as window

K = 20
FILES = ("parquet", "ndjson", "csv")

Calls = dict[str, Any]


class PartsScale(NamedTuple):
    """Numbers of entries or rows, and rounds."""

    ns: tuple[int, ...]
    n_rounds: int


@kernel
def offer_all(heap: Heap, keys: Floats, k: int) -> int:
    """Offer every key to the heap, its place as its stamp, and sort what is kept."""
    n = 0
    for i in range(len(keys)):
        n = heap_push(heap, n, k, keys[i], -i, i)
    heap_sort(heap, n)
    return n


def structures(scale: PartsScale, progress: Progress) -> Iterator[Row]:
    """Every structure at every number of entries."""
    random = np.random.default_rng(0)
    for n in scale.ns:
        progress(f"{n:,} entries")
        for contest in (_adding, _finding, _naming, _selecting, _taking):
            yield from contest(n, scale.n_rounds, random)


def _rows(structure: str, operation: str, n: int, n_rounds: int, calls: Calls, n_bytes: dict[str, float]) -> list[Row]:
    parameters = {"structure": structure, "operation": operation, "n": n, "k": K}
    contest, known = f"{structure}, {operation}, {n}", {name: {"bytes": each} for name, each in n_bytes.items()}
    return race(contest, calls, n_rounds, n, parameters, lambda name, taken: known.get(name, {}))


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


def _naming(n: int, n_rounds: int, random: np.random.Generator) -> list[Row]:
    """What Arrow takes from an array of all ids; an engine cannot, since its ids come and go."""
    texts, slots = _some_ids(n, random)
    asked, rows = random.permutation(n), []
    for kind, ids in (("texts", texts), ("integers", pa.array(random.permutation(n)))):
        mapped, plain, chosen = _mapped(ids, slots), ids.to_pylist(), pa.array(asked)
        calls: Calls = {
            "IdMap": lambda turn, mapped=mapped: mapped.ids(asked),
            "pyarrow.take": lambda turn, ids=ids, chosen=chosen: ids.take(chosen),
            "list": lambda turn, plain=plain: pa.array([plain[slot] for slot in asked.tolist()]),
        }
        _require(all(call(0).equals(calls["IdMap"](0)) for call in calls.values()), "id map")
        rows += _rows("id map", f"name {kind}", n, n_rounds, calls, {"IdMap": float(mapped.n_bytes)})
    return rows


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


def readers(scale: PartsScale, progress: Progress) -> Iterator[Row]:
    """Window publications from files, from Arrow and from pandas, at every number of rows."""
    for n in scale.ns:
        progress(f"{n:,} rows")
        table = window.generate(window.Options(n_publications=n, n_subscriptions=0)).publications
        with TemporaryDirectory() as folder:
            yield from _measure_rows(n, scale.n_rounds, table, Path(folder))


def _measure_rows(n: int, n_rounds: int, table: pa.Table, folder: Path) -> Iterator[Row]:
    sources: dict[str, Any] = {"arrow": table}
    for suffix in FILES:
        sources[suffix] = folder / f"publications.{suffix}"
        write_table(table, sources[suffix])
    contest, parameters = f"window publications, {n}", {"n": n, "dims": 4}
    if importlib.util.find_spec("pandas") is not None:
        sources["pandas"] = table.to_pandas()
    else:
        yield skipped(contest, "pandas", parameters, "Skipped: pandas is not installed.")
    _check(table, sources)
    calls: dict[str, Call] = {name: partial(_read, source) for name, source in sources.items()}
    n_bytes = {name: {"bytes": float(sources[name].stat().st_size)} for name in FILES}
    yield from race(contest, calls, n_rounds, n, parameters, lambda name, taken: n_bytes.get(name, {}))


def _read(source: Any, turn: int) -> ReadRows:
    return read_publications("window", source)


def _check(table: pa.Table, sources: dict[str, Any]) -> None:
    expected = np.array(table["point"].combine_chunks().flatten())
    for name, source in sources.items():
        if not np.array_equal(_read(source, 0).parsed.rows.points.ravel(), expected):
            raise WrongAnswer(f"What was read from {name} is not what was written.")
