"""Rejects and the errors that carry them."""

import pickle

import pyarrow as pa

from skyband.table import Reject, Rejected, rejects_table
from skyband.table.reject import shorten

ZERO = Reject(3, "k", "0", "k must be at least 1")


def test_a_reject_reads_as_a_clause() -> None:
    assert str(ZERO) == "row 3, column k, value 0: k must be at least 1"
    assert str(ZERO._replace(column="")) == "row 3, value 0: k must be at least 1"


def test_rejected_names_the_first_and_counts_the_rest() -> None:
    assert str(Rejected([ZERO], "s.csv")) == "s.csv: row 3, column k, value 0: k must be at least 1."
    assert str(Rejected([ZERO] * 2, "s")).endswith("at least 1 (and 1 more row).")
    error = Rejected([ZERO] * 13, "s")
    assert str(error).endswith("at least 1 (and 12 more rows).")
    assert error.rejects == [ZERO] * 13
    assert pickle.loads(pickle.dumps(error)).rejects == error.rejects


def test_values_are_shortened() -> None:
    assert shorten("a") == "'a'"
    assert len(shorten("a" * 1000)) == 80
    assert shorten("a" * 1000).endswith("...")


def test_rejects_table() -> None:
    assert rejects_table([ZERO]).to_pylist() == [ZERO._asdict()]
    assert rejects_table([]).schema == rejects_table([ZERO]).schema
    assert rejects_table([]).schema.field("row").type == pa.int64()
