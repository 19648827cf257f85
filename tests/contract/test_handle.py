"""What people see of an engine: a line, its public names, a block that closes it, batches one after another."""

import copy
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_overloads, get_type_hints

import pandas as pd
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine, engines
from skyband.contract.handle import Closed, show_bytes
from skyband.contract.option import options_of

ANN: dict[str, Any] = {"id": "ann", "k": 1, "score": "euclidean", "point": [0.0]}
BOX: dict[str, Any] = {"id": "any", "lo": [0.0], "hi": [9.0]}


class Frame:
    """A data frame as polars has it, which need not be installed."""

    columns: tuple[str, ...] = ("ann",)
    dtypes: tuple[str, ...] = ("str",)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def started(window: Any = "10m") -> AnyEngine:
    engine = skyband.open("window", "oracle", window=window)
    engine.subscribe(ANN)
    return engine


@pytest.mark.parametrize(
    ("window", "said"),
    [("10m", "window 10m"), (None, "no window"), (skyband.Window.count(1500), "window 1,500 publications")],
)
def test_an_engine_says_what_it_is(window: Any, said: str) -> None:
    assert repr(started(window)) == f"<window engine oracle: 1 subscription, {said}>"


@pytest.mark.parametrize("kind", engines(), ids=lambda kind: f"{kind.family}-{kind.name}")
def test_every_engine_says_what_it_is(kind: type[AnyEngine]) -> None:
    said = repr(kind())
    assert said.startswith(f"<{kind.family} engine {kind.name}: 0 subscriptions")
    assert ("window" in said.split(": ")[1]) == (kind.family in ("window", "geotext"))
    assert said.endswith((" bytes>", " KiB>", " MiB>")) == bool(kind().memory())


def test_a_cover_set_says_what_it_is() -> None:
    cover = skyband.CoverSet()
    cover.add([BOX, BOX | {"id": "low", "hi": [5.0]}])
    size = show_bytes(sum(cover.memory().values()))
    assert repr(cover) == f"<CoverSet: search corners, 2 subscriptions, 1 uncovered, {size}>"


@pytest.mark.parametrize(
    ("n_bytes", "said"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "0.977 KiB"), (5 << 20, "5 MiB")]
)
def test_bytes_are_shown_in_few_digits(n_bytes: int, said: str) -> None:
    assert show_bytes(n_bytes) == said


def test_only_public_names_are_listed() -> None:
    verbs = {"subscribe", "unsubscribe", "resize", "publish", "advance", "top", "gates", "run", "close", "counters"}
    for thing, names in ((started(), verbs), (skyband.CoverSet(), {"add", "remove", "find", "uncovered", "close"})):
        assert names <= set(dir(thing))
        assert [name for name in dir(thing) if name.startswith("_") or not hasattr(thing, name)] == []
    assert dir(skyband) == sorted(skyband.__all__)


def test_a_block_closes_what_it_opened(tmp_path: Path) -> None:
    with started() as engine:
        engine.publish({"id": 1, "ts": 5, "point": [1.0]})
        engine.snapshot(tmp_path / "state")
    assert repr(engine) == "<window engine oracle: closed>"
    for use in (engine.top, lambda: engine.publish([]), lambda: engine.now, lambda: engine.counters):
        with pytest.raises(Closed, match=r"^The window engine oracle was closed: open another one\.$"):
            use()
    with pytest.raises(Closed, match=r"^The window engine oracle was closed: open another one\.$"), engine:
        pass
    engine.close()
    with skyband.restore(tmp_path / "state") as again, skyband.CoverSet() as cover:
        assert again.n_subscriptions == 1
        assert len(cover) == 0
    with pytest.raises(ValueError, match=r"^The CoverSet was closed: open another one\.$"):
        cover.add(BOX)


def test_a_block_lets_errors_through_and_names_stay_checked() -> None:
    with pytest.raises(skyband.Rejected), started() as engine:
        engine.subscribe(ANN)
    with pytest.raises(AttributeError, match="'WindowOracle' object has no attribute 'pubish'"):
        started().pubish([])  # type: ignore[attr-defined]  # that is the test


def test_engines_are_copied_and_pickled() -> None:
    engine = started()
    for twin in (copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))):
        assert twin.top().equals(engine.top())


def test_batches_one_after_another() -> None:
    engine, asked = started(), []

    def batches() -> Iterator[dict[str, Any]]:
        for i, x in enumerate([3.0, 1.0, 2.0]):
            asked.append(i)
            yield {"id": i, "ts": i, "point": [x]}

    found = engine.run(batches())
    assert asked == []
    assert next(found)["publication"].to_pylist() == [0]
    assert asked == [0]
    assert [changes["publication"].to_pylist() for changes in found] == [[0, 1], []]


@pytest.mark.parametrize(
    "batches",
    [
        *("x.csv", {"id": [1]}, pa.table({"id": [1]}), None, 3, Path("x.csv")),
        *(pd.DataFrame({"id": [1]}), Frame()),
    ],
)
def test_one_batch_is_no_list_of_batches(batches: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^run takes batches one after another, .* not a .*; publish takes one batch\.$"
    ):
        started().run(batches)


def test_an_editor_is_told_all_engines_and_options() -> None:
    """The overloads of `open` are written by hand; they name what there is."""
    told: dict[str, tuple[set[str], set[str]]] = {}
    for each in get_overloads(skyband.open):
        given = inspect.signature(each).parameters
        if given["family"].annotation is not str:
            (family,) = get_args(given["family"].annotation)
            names, options = told.setdefault(family, (set(), set()))
            names |= set(get_args(given["engine"].annotation))
            options |= {name for name, one in given.items() if one.kind is one.KEYWORD_ONLY}
    shared = {"window", "bounds", "words", "granularity", "on_error", "threads"}
    for family in {kind.family for kind in engines()}:
        kinds = [kind for kind in engines() if kind.family == family]
        names, options = told[family]
        assert names == {kind.name for kind in kinds}
        assert options - shared == {name for kind in kinds for name in options_of(kind)}
    assert get_type_hints(skyband.answer_as)["return"] is Any


@pytest.mark.parametrize("verb", ["retract", "unsubscribe", "top"])
@pytest.mark.parametrize("frame", [pd.DataFrame({"ann": ["bob"]}), Frame(), pa.table({"ann": [1]})])
def test_a_table_is_no_list_of_ids(verb: str, frame: Any) -> None:
    engine = started()
    with pytest.raises(ValueError, match=r"^Ids are an integer, a text, or a list of either, not "):
        getattr(engine, verb)(frame)
    assert engine.n_subscriptions == 1
