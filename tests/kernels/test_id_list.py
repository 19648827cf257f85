"""Ids as bytes against Arrow arrays of the same ids."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.id_list import IdList, arrow_ids, id_bytes, id_numbers

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=80)
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=80)


def made(ids: list[Any], kind: pa.DataType) -> IdList:
    return IdList.of_integers(ids) if kind == pa.int64() else IdList.of_texts(ids)


@pytest.mark.parametrize(("kind", "lists"), [(pa.int64(), INTEGERS), (pa.string(), TEXTS)], ids=str)
@given(data=st.data())
def test_they_are_the_ids_that_were_given(kind: pa.DataType, lists: Any, data: st.DataObject) -> None:
    ids = data.draw(lists)
    listed, array = made(ids, kind), pa.array(ids, kind)
    assert (len(listed), listed.type, listed.to_pylist()) == (len(ids), kind, ids)
    assert listed.to_arrow().equals(array)
    assert arrow_ids(array) is array
    chosen = data.draw(st.lists(st.integers(0, len(ids) - 1), max_size=5)) if ids else []
    assert listed.take(np.array(chosen, np.int64)).to_pylist() == [ids[i] for i in chosen]
    if kind == pa.int64():
        assert id_numbers(listed).tolist() == id_numbers(array).tolist() == ids
        return
    mine, theirs = id_bytes(listed), id_bytes(array)
    assert mine.ends.tolist() == theirs.ends.tolist()
    # Behind the last byte an Arrow array may have more.
    assert mine.data.tolist() == theirs.data[: mine.ends[-1]].tolist()
    assert (mine.data.dtype, mine.ends.dtype) == (theirs.data.dtype, theirs.ends.dtype)
    assert mine.data.flags.writeable
    assert mine.ends.flags.writeable


def test_what_has_no_utf8_and_what_has_more_than_64_bits() -> None:
    with pytest.raises(UnicodeError):
        IdList.of_texts(["a", "\ud800"])
    with pytest.raises(OverflowError):
        IdList.of_integers([2**63])
