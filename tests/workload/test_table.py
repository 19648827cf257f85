"""Batches of one size from tables of any."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.workload.table import batches


@given(st.lists(st.integers(0, 7), max_size=6), st.integers(1, 9))
def test_batches_cut_and_join(sizes: list[int], batch: int) -> None:
    n_rows = sum(sizes)
    whole = pa.table({"id": pa.array(range(n_rows), pa.int64())})
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    cut = list(batches((whole.slice(*part) for part in zip(starts, sizes, strict=True)), batch))
    assert [part.num_rows for part in cut] == [min(batch, n_rows - at) for at in range(0, n_rows, batch)]
    assert [value for part in cut for value in part["id"].to_pylist()] == list(range(n_rows))


def test_a_batch_has_at_least_a_row() -> None:
    with pytest.raises(ValueError, match=r"^batch must be at least 1, not 0\.$"):
        list(batches([], 0))
