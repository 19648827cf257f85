"""Properties of parsing: a row is kept or rejected, and what was parsed parses again to the same."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract.family import FAMILIES
from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import Settings, write_table
from skyband.table.words import Words
from skyband.window import rows as window

ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["sum", "cosine", "euclidean", "chebyshev", "2024-01-01"]),
    st.lists(st.one_of(st.none(), st.floats(0, 1), st.integers(0, 3), st.booleans(), st.just("a")), max_size=2),
    st.lists(st.sampled_from([0.6, 0.8, 1.0]), max_size=2),
    st.lists(st.sampled_from(["a", "b", "ä"]), max_size=2),
)
READERS = [(family, noun) for family in FAMILIES for noun in ("publications", "subscriptions")]
READERS.remove(("covering", "publications"))
WORDS = Words.fit_texts(["a b", "b"])


def columns_of(family: str, noun: str) -> list[str]:
    names: list[str] = getattr(FAMILIES[family], noun).names
    return names


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[dict[str, Any]]]:
    family, noun = draw(st.sampled_from(READERS))
    row = st.fixed_dictionaries(dict.fromkeys(columns_of(family, noun), ANY))
    return family, noun, draw(st.lists(row, min_size=1, max_size=5))


def read(family: str, noun: str, source: Any, settings: Settings | None = None) -> Any:
    reader = read_publications if noun == "publications" else read_subscriptions
    return reader(family, source, settings or Settings(words=WORDS), on_error="collect")


def same(left: Any, right: Any) -> bool:
    for one, other in zip(left, right, strict=True):
        if isinstance(one, tuple):
            if not same(one, other):
                return False
        elif isinstance(one, np.ndarray):
            if not (one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)):
                return False
        elif not (one == other if isinstance(one, int) else one.equals(other)):
            return False
    return True


@given(tables())
def test_every_row_is_either_kept_or_rejected(case: tuple[str, str, list[dict[str, Any]]]) -> None:
    family, noun, rows = case
    result = read(family, noun, rows)
    kept = result.parsed.kept.tolist()
    rejected = [reject.row - 1 for reject in result.rejects]
    assert sorted(kept + rejected) == list(range(len(rows)))
    assert result.table.num_rows == len(kept) == len(result.parsed.rows.ids)


@given(tables())
def test_good_rows_parse_again_to_the_same(case: tuple[str, str, list[dict[str, Any]]]) -> None:
    family, noun, rows = case
    result = read(family, noun, rows)
    if result.table.num_rows:
        again = read(family, noun, result.table)
        assert again.rejects == []
        assert same(again.parsed.rows, result.parsed.rows)


IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=6),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), unique=True, max_size=6),
)


@given(IDS, st.data())
def test_arrays_to_table_to_arrays(ids: list[Any], data: st.DataObject) -> None:
    n, dims = len(ids), data.draw(st.integers(1, 3))
    number = st.floats(-1e150, 1e150)
    points = data.draw(st.lists(st.lists(number, min_size=dims, max_size=dims), min_size=n, max_size=n))
    ts = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n))
    table = pa.table({"id": ids, "ts": ts, "point": points})
    first = window.parse_publications(table, Settings(dims=dims))
    assert first.rejects == []
    rows = first.rows
    rebuilt = pa.table({"id": rows.ids, "ts": rows.ts, "point": rows.points.tolist()})
    assert same(window.parse_publications(rebuilt, Settings(dims=dims)).rows, rows)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=1, max_size=5), st.data())
def test_files_hold_what_was_written(ids: list[int], data: st.DataObject) -> None:
    points = data.draw(st.lists(st.tuples(st.floats(-1e150, 1e150)), min_size=len(ids), max_size=len(ids)))
    table = pa.table({"id": ids, "ts": ids, "point": [list(point) for point in points]})
    expected = window.parse_publications(table, Settings()).rows
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("parquet", "ndjson", "csv"):
            path = Path(folder) / f"t.{suffix}"
            write_table(table, path)
            assert same(read_publications("window", path).parsed.rows, expected)
