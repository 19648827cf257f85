"""The id map against a dictionary."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels import id_list
from skyband.kernels.idmap import IdMap

INTEGERS = st.one_of(st.integers(-3, 12), st.sampled_from([2**63 - 1, -(2**63)]))
TEXTS = st.text(alphabet="aé猫😀", max_size=3)


@pytest.mark.parametrize(("kind", "ids"), [(pa.int64(), INTEGERS), (pa.string(), TEXTS)], ids=["integers", "texts"])
@given(data=st.data())
def test_equals_a_dictionary(kind: pa.DataType, ids: st.SearchStrategy[object], data: st.DataObject) -> None:
    built, twin, free = IdMap(), dict[object, int](), set(range(64))
    for batch in data.draw(st.lists(st.lists(ids, unique=True, max_size=9), max_size=9)):
        if data.draw(st.booleans()):
            gone = [id for id in batch if id in twin]
            built.remove(np.array([twin[id] for id in gone], np.int64))
            free |= {twin.pop(id) for id in gone}
        else:
            new = [id for id in batch if id not in twin]
            slots = sorted(free)[: len(new)]
            free -= set(slots)
            built.add(pa.array(new, kind), np.array(slots, np.int64))
            twin |= dict(zip(new, slots, strict=True))
        built.check()
        assert built.size == len(twin)
        assert built.find(pa.array(batch, kind)).tolist() == [twin.get(id, -1) for id in batch]
        slots = sorted(twin.values())
        names = {slot: id for id, slot in twin.items()}
        assert built.ids(np.array(slots, np.int64)).to_pylist() == [names[slot] for slot in slots]


@pytest.mark.parametrize(("kind", "ids"), [(pa.int64(), INTEGERS), (pa.string(), TEXTS)], ids=["integers", "texts"])
@given(data=st.data())
def test_unknown_ids_take_fresh_slots(kind: pa.DataType, ids: st.SearchStrategy[object], data: st.DataObject) -> None:
    built, twin, n_slots = IdMap(), dict[object, int](), 0
    for batch in data.draw(st.lists(st.lists(ids, max_size=9), max_size=9)):
        fresh = np.arange(n_slots, n_slots + len(batch))[::-1].copy()
        n_slots += len(batch)
        unused = iter(fresh.tolist())
        wanted = [twin[id] if id in twin else twin.setdefault(id, next(unused)) for id in batch]
        slots, n_taken = built.take(pa.array(batch, kind), fresh)
        assert slots.tolist() == wanted
        assert n_taken == len(batch) - len(list(unused))
        built.check()
        assert built.size == len(twin)


def test_ids_of_another_type_are_unknown() -> None:
    built = IdMap()
    built.add(pa.array([1, 2]), np.array([0, 1]))
    assert built.find(pa.array(["1"])).tolist() == [-1]


def test_space_of_removed_ids_is_used_again() -> None:
    built = IdMap()
    texts = pa.array([f"a rather long id, number {i}" for i in range(1000)])
    for _ in range(20):
        built.add(texts, np.arange(1000, dtype=np.int64))
        built.remove(np.arange(1000, dtype=np.int64))
    once = IdMap()
    once.add(texts, np.arange(1000, dtype=np.int64))
    assert built.n_bytes < 4 * once.n_bytes


def test_slots_can_be_renumbered() -> None:
    built = IdMap()
    built.add(pa.array(["a", "b", "c"]), np.arange(3, dtype=np.int64))
    built.remove(np.array([0]))
    built.shift(1)
    built.check()
    assert built.find(pa.array(["a", "b", "c"])).tolist() == [-1, 0, 1]


def test_an_arrow_slice_is_read_where_it_begins() -> None:
    built = IdMap()
    built.add(pa.array(["a", "bb", "ccc"]).slice(1), np.array([0, 1]))
    assert built.ids(np.array([1, 0])).to_pylist() == ["ccc", "bb"]


def test_more_text_than_offsets_of_32_bits_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = IdMap()
    ids.add(pa.array(["a", "", "é", "dddd"]), np.arange(4))
    few = ids.ids(np.array([3, 2, 1, 0]))
    monkeypatch.setattr(id_list, "LARGEST_STRINGS", 3)
    many = ids.ids(np.array([3, 2, 1, 0]))
    assert few.type == many.type == pa.string()
    assert few.to_pylist() == many.to_pylist() == ["dddd", "é", "", "a"]


def test_ids_of_all_lengths_are_named() -> None:
    texts = pa.array(["x" * i + "é" for i in range(40)] + [""] + ["yz" * i for i in range(1, 30)])
    built = IdMap()
    built.add(texts, np.arange(len(texts)))
    for chosen in (np.arange(len(texts))[::-1].copy(), np.zeros(50, np.int64), np.array([40, 40])):
        assert built.ids(chosen).equals(texts.take(pa.array(chosen)))


def test_an_integer_takes_few_bytes() -> None:
    built = IdMap()
    built.add(pa.array(np.arange(50_000)), np.arange(50_000))
    assert built.n_bytes < 32 * 50_000
    assert built.ids(np.array([3, 49_999])).to_pylist() == [3, 49_999]
