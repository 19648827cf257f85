"""The running sum of changes."""

import pyarrow as pa
import pytest

from skyband.contract import Tops
from skyband.table import change_schema


def _change(op: str, publication: int, score: float = 1.0) -> pa.Table:
    row = {
        "subscription": "ann",
        "publication": publication,
        "op": op,
        "score": score,
        "rank": 1,
        "at": 0,
        "first": True,
    }
    return pa.Table.from_pylist([row], change_schema(pa.string(), pa.int64()))


def test_changes_add_up() -> None:
    tops = Tops()
    for op, publication, score in [("enter", 1, 1.0), ("enter", 2, 2.0), ("move", 1, 3.0), ("leave", 2, 2.0)]:
        tops.apply(_change(op, publication, score))
    assert tops.of("ann") == {1: 3.0}
    assert tops.subscriptions() == ["ann"]
    tops.apply(_change("leave", 1))
    assert tops.subscriptions() == []
    assert tops.of("bob") == {}


@pytest.mark.parametrize("op", ["leave", "move"])
def test_a_change_that_does_not_fit_is_refused(op: str) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Tops().apply(_change(op, 1))


def test_nothing_enters_twice() -> None:
    tops = Tops()
    tops.apply(_change("enter", 1))
    with pytest.raises(ValueError, match="does not fit"):
        tops.apply(_change("enter", 1))
