"""Whatever is given to an engine is taken or refused in a sentence, and what is refused changes nothing."""

import datetime
import decimal
import fractions
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine, engines
from skyband.table import UnreadableFile, Window

ENGINES = engines()
SOURCES = Path(skyband.__file__).parent
# Arguments and rows are read by families, whatever the engine: scan and one other of each; the soak takes all.
ALWAYS = {"scan", "blocks", "paint", "scored"}
BY_FAMILY = [
    pytest.param(kind, id=f"{kind.family}-{kind.name}", marks=() if kind.name in ALWAYS else pytest.mark.soak)
    for kind in ENGINES
]
ASKED: dict[str, dict[str, Any]] = {
    "window": {"id": "ann", "k": 1, "score": "euclidean", "point": [0.0]},
    "geotext": {"id": "ann", "k": 1, "x": 0.5, "y": 0.5, "alpha": 0.5, "terms": ["a"], "weights": [1.0]},
    "ranges": {"id": "ann", "k": 1, "lo": 0.0, "hi": 9.0},
    "ranked": {"id": "ann", "lo": [0.0], "hi": [1.0]},
}
SAID: dict[str, dict[str, Any]] = {
    "window": {"id": 1, "ts": 5, "point": [1.0]},
    "geotext": {"id": 1, "ts": 5, "x": 0.5, "y": 0.5, "terms": ["a"], "weights": [1.0]},
    "ranges": {"id": 1, "ts": 5, "object": "tea", "x": 1.0, "y": 2.0},
    "ranked": {"id": 1, "ts": 5, "point": [0.5]},
}


def odd() -> Iterator[Any]:
    """Values that no verb and no option is meant for, and some that only a few are."""
    yield from (
        1.5,
        float("nan"),
        float("inf"),
        None,
        True,
        "x",
        "",
        "\0",
        "\ud800",
        b"x",
        Ellipsis,
        object(),
        int,
        3 + 4j,
    )
    yield from ({"a"}, frozenset[str](), {}, {"a": 1}, [], (), [[1]], [None], ["x", 1], [1.5], [True], [b"x"], range(3))
    yield from (0, -1, 2**70, -(2**70), decimal.Decimal(1), decimal.Decimal("NaN"), fractions.Fraction(1, 2))
    yield from (datetime.date(2024, 1, 1), datetime.timedelta(1), np.datetime64("NaT"), pd.NaT, iter([1]))
    yield from (np.timedelta64(5, "s"), np.timedelta64(5), np.timedelta64("NaT"), np.timedelta64(2**62, "W"), 10**5000)
    yield from (np.zeros(2, [("a", int)]), np.zeros(1, complex), pd.Series(np.zeros(1, complex)), pd.Timedelta(1))
    yield from (np.int64(3), np.float64(2.0), np.bool_(True), np.array(3), np.array([1.0]), np.array([[1]]))
    yield from (pa.array([None]), pa.array([1.5]), pa.array([b"x"]), pa.chunked_array([["x"]]), pa.scalar("x"))
    yield from (pd.Series(["x"]), pd.Series([1.5, None]), pd.DataFrame({0: [1]}), pa.table({"a": [1]}))
    yield from (pd.DataFrame([[1, 2]], columns=["id", "id"]), [{}], [{1: 2}], {1: [2]}, {"id": [1]}, {"id": 1})
    yield from ({"id": [1], "ts": 3}, {"id": {1}}, {"id": "abc", "ts": [1, 2]}, [{"id": {"a": object()}}])


def started(kind: type[AnyEngine], **options: Any) -> AnyEngine:
    """An engine with one subscription and one publication, each given as one row."""
    engine = kind(**options)
    engine.subscribe(ASKED[kind.family])
    engine.publish(SAID[kind.family])
    return engine


def refusal(action: Callable[[], object]) -> str | None:
    """The sentence with which an action is refused, or None; any other error than a ValueError of ours is a failure."""
    try:
        action()
    except ValueError as error:
        is_ours = "skyband" in inspect.trace(0)[-1].filename and not isinstance(error, pa.ArrowException | UnicodeError)
        if not is_ours or str(error)[-1] not in ".?":
            raise
        return str(error)
    return None


def state(engine: AnyEngine) -> tuple[object, ...]:
    """What may not change when something is refused."""
    counters = {name: n for name, n in engine.counters.items() if name != "rejected"}
    tops = engine.top().to_pylist() if engine.family != "ranked" else None
    return engine.now, engine.n_subscriptions, counters, tops, engine.settings


def verbs(family: str) -> list[str]:
    more = ["update", "budgets"] if family == "ranked" else ["resize", "gates", "staircase"]
    return ["subscribe", "unsubscribe", "publish", "advance", "top", *more]


@pytest.mark.parametrize("kind", BY_FAMILY)
def test_odd_arguments_of_verbs(kind: type[AnyEngine]) -> None:
    engine = started(kind)
    before = state(engine)
    for verb in verbs(kind.family):
        for value in odd():
            more = (2,) if verb == "resize" else ()
            if refusal(partial(getattr(engine, verb), value, *more)) is not None:
                assert state(engine) == before
            else:
                before = state(engine)
    for value in odd():
        if kind.family != "ranked":
            refusal(partial(engine.resize, "ann", value))
            refusal(partial(engine.gates, None, value))


@pytest.mark.parametrize("kind", BY_FAMILY)
def test_odd_values_in_rows(kind: type[AnyEngine]) -> None:
    engine = started(kind)
    before = state(engine)
    for verb, row in (("subscribe", ASKED[kind.family]), ("publish", SAID[kind.family])):
        for column in row:
            for value in odd():
                new = row | {"id": "bob" if verb == "subscribe" else 2} | {column: value}
                if refusal(partial(getattr(engine, verb), new)) is not None:
                    assert state(engine) == before
                    continue
                if verb == "subscribe":
                    engine.unsubscribe(new["id"])
                before = state(engine)


def options_of(kind: type) -> dict[str, Any]:
    """The options of a class by name, with their types; an index or a policy of its own has the one of the class."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        if "__init__" in vars(each) and each.__module__.startswith("skyband"):
            hints = get_type_hints(each.__init__)  # type: ignore[misc]  # of a class, not of an object
            given = inspect.signature(each.__init__).parameters.values()  # type: ignore[misc]
            found = {p.name: hints[p.name] for p in given if p.kind is p.KEYWORD_ONLY} | found
    return found


def choices_of(hint: Any) -> tuple[str, ...]:
    """The words of an option with a fixed set of them, also where it may be left out."""
    kinds = [hint, *get_args(hint)]
    return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())


CHOOSING: list[type[Any]] = [*ENGINES, skyband.CoverSet]
CHOICES = [
    (kind, name, choices_of(hint)) for kind in CHOOSING for name, hint in options_of(kind).items() if choices_of(hint)
]


@pytest.mark.parametrize(("kind", "name", "words"), CHOICES, ids=lambda part: getattr(part, "__name__", str(part)))
def test_an_unknown_word_names_those_there_are(kind: type, name: str, words: tuple[str, ...]) -> None:
    for given in ("no such word", words[0] + "s", words[0].upper(), "", None, [words[0]]):
        if given is None and name == "curve":
            continue
        with pytest.raises(ValueError, match=f"^{name} is ") as raised:
            kind(**{name: given})
        assert all(word in str(raised.value) for word in words)


def test_every_engine_has_its_choices_found() -> None:
    found = {(kind.__name__, name) for kind, name, _ in CHOICES}
    assert all((kind.__name__, name) in found for kind in ENGINES for name in ("granularity", "on_error"))
    assert {("WindowBlocks", "index"), ("GeotextSkype", "policy"), ("ScoredEngine", "access")} <= found
    assert {("RangesPaint", "shape"), ("RankedOracle", "fit"), ("CoverSet", "curve")} <= found


def test_choices_are_checked_in_one_place() -> None:
    checks = re.compile(r"not in (get_args\(|\(\"[a-z]+\", )[^\n]*:\n\s+raise ValueError")
    own = SOURCES / "model" / "argument.py"
    found = [path.name for path in SOURCES.rglob("*.py") if path != own and checks.search(path.read_text())]
    assert found == []


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: f"{kind.family}-{kind.name}")
def test_odd_options(kind: type[AnyEngine]) -> None:
    names = set(options_of(kind)) - ({"policy"} if kind.family == "window" else set())
    for name in names:
        for value in odd():
            refusal(partial(kind, **{name: value}))
    for name in ("window", "bounds", "words"):
        for value in odd():
            refusal(partial(skyband.open, kind.family, kind.name, **{name: value}))
    for value in odd():
        refusal(partial(kind, value))


def test_odd_names_and_cover_sets() -> None:
    for value in odd():
        assert refusal(partial(skyband.open, value)) is not None
        assert refusal(partial(skyband.open, "window", value)) is not None
        for make in (Window.time, Window.count, Window.of, lambda x: skyband.Bounds(x, 0, 1, 1)):
            refusal(partial(make, value))
        for name in options_of(skyband.CoverSet):
            refusal(partial(skyband.CoverSet, **{name: value}))
        refusal(partial(skyband.CoverSet, domains=skyband.Domain(0, 1, value)))
        cover = skyband.CoverSet()
        cover.add({"id": "ann", "lo": [0.0], "hi": [1.0]})
        for verb in ("add", "remove", "find", "covered_by"):
            refusal(partial(getattr(cover, verb), value))


def opened(**options: Any) -> AnyEngine:
    engine = skyband.open("window", "oracle", **options)
    engine.subscribe([ASKED["window"], ASKED["window"] | {"id": "bob"}])
    engine.publish(SAID["window"])
    return engine


@pytest.mark.parametrize("now", [1.5, 6.0, float("nan"), None, True, "6", "2024-01-01", [6], pd.NaT])
def test_time_is_an_integer_or_a_datetime(now: Any) -> None:
    engine = opened()
    with pytest.raises(ValueError, match=r"^The time is an integer of microseconds, or a datetime without less, not "):
        engine.advance(now)
    assert engine.now == 5


@pytest.mark.parametrize(
    ("now", "us"),
    [
        (6, 6),
        (np.uint8(6), 6),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (datetime.datetime(1970, 1, 1, 1, 0, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), 1_000_000),
        (np.datetime64("1970-01-01T00:00:01"), 1_000_000),
        (pd.Timestamp("1970-01-01T00:00:01Z"), 1_000_000),
        (2**61, 2**61),
    ],
)
def test_times_are_taken_as_in_rows(now: Any, us: int, tmp_path: Path) -> None:
    engine = opened()
    engine.advance(now)
    assert engine.now == us
    engine.snapshot(tmp_path / "state")
    assert skyband.restore(tmp_path / "state").now == us


def test_times_before_anything_and_far_away() -> None:
    engine = skyband.open("window", "oracle")
    engine.advance(-5)
    assert engine.now == -5
    for far in (2**61 + 1, 2**64, -(2**61) - 1):
        with pytest.raises(ValueError, match=r"is too far away: times lie within"):
            engine.advance(far)
    with pytest.raises(ValueError, match=r"^Time cannot go back: it is -5 already, and -6 was asked for\.$"):
        engine.advance(-6)
    with pytest.raises(ValueError, match="a datetime without less"):
        engine.advance(pd.Timestamp(1))  # a nanosecond
    assert engine.now == -5


@pytest.mark.parametrize("ids", ["ann", ["ann"], ("ann",), {"ann"}, pa.array(["ann"]), pd.Series(["ann"]),
                                 np.array(["ann"]), (id for id in ["ann"]), pa.chunked_array([["ann"]])],
                         ids=lambda ids: type(ids).__name__)  # fmt: skip
def test_one_id_or_many(ids: Any) -> None:
    engine = opened()
    assert engine.top(ids)["subscription"].to_pylist() == ["ann"]
    engine.unsubscribe("ann")
    assert engine.n_subscriptions == 1


def test_ids_of_a_set_come_in_their_order() -> None:
    assert opened().top({"bob", "ann"})["subscription"].to_pylist() == ["ann", "bob"]
    assert opened().top([]).num_rows == 0
    assert opened().top(None)["subscription"].to_pylist() == ["ann", "bob"]
    engine = skyband.open("window", "oracle")
    engine.subscribe(ASKED["window"] | {"id": 7})
    engine.unsubscribe(7)
    assert engine.n_subscriptions == 0


def test_bad_ids_are_collected_like_rows() -> None:
    engine = opened(on_error="collect")
    engine.unsubscribe(["ann", None, "ann", "eve"])
    assert [(reject.row, reject.reason) for reject in engine.rejects] == [
        (2, "id must not be null"),
        (3, "is given twice"),
        (4, "is not registered"),
    ]
    with pytest.raises(ValueError, match=r"^Ids are an integer, a text, or a list of either, not None\.$"):
        engine.unsubscribe(None)


@pytest.mark.parametrize("window", ["10m", "600s", " 10 min", "600000000", datetime.timedelta(minutes=10)])
def test_windows_are_given_as_on_the_command_line(window: Any) -> None:
    assert opened(window=window).settings.window == Window.time(600_000_000) == Window.time(window)


@pytest.mark.parametrize("window", [10, 0, True, False, "", "ten minutes", "-5s", "0s", 1.5, ["10m"]])
def test_what_is_no_window(window: Any) -> None:
    with pytest.raises(ValueError, match=r"window is a duration such as|is not a duration; write|A window must be"):
        skyband.open("window", window=window)
    assert skyband.open("window", window=None).settings.window == skyband.table.UNBOUNDED


@pytest.mark.parametrize("given", [np.timedelta64(5, "s"), pd.Timedelta(seconds=5), "5s"])
def test_a_window_takes_durations_of_numpy_and_pandas(given: Any) -> None:
    assert Window.time(given) == Window.of(given) == Window.time(5_000_000)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.timedelta64(1, "ns"), "np.timedelta64(1,'ns') is not a duration: it has a fraction of a microsecond."),
        (
            pd.Timedelta(1),
            "Timedelta('0 days 00:00:00.000000001') is not a duration: it has a fraction of a microsecond.",
        ),
        (np.timedelta64(1, "M"), "np.timedelta64(1,'M') is not a duration of a known length."),
        (np.timedelta64("NaT", "s"), "np.timedelta64('NaT','s') is not a duration of a known length."),
        (np.timedelta64(2**62, "D"), f"A window must be a positive 64-bit integer, not {2**62 * 86_400_000_000}."),
    ],
)
def test_what_is_no_duration_of_a_window(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^np|^Time|^A window") as raised:
        Window.time(given)
    assert str(raised.value) == sentence


def test_a_duration_of_numpy_is_no_integer() -> None:
    engine = opened()
    five: Any = np.timedelta64(5, "s")
    for action in (
        partial(Window.count, five),
        partial(engine.advance, five),
        partial(engine.resize, "ann", five),
        partial(engine.gates, None, five),
        partial(skyband.CoverSet, bits=five),
        partial(skyband.Bounds, five, 0, 1, 1),
    ):
        assert "not np.timedelta64(5,'s')" in str(refusal(action)).replace("(np.", "np.")


@pytest.mark.parametrize("folder", [None, 3, 1.5, b"x", ["x"], "\ud800", "a\0b"])
def test_a_snapshot_needs_the_path_of_a_folder(folder: Any) -> None:
    cover = skyband.CoverSet()
    for action in (opened().snapshot, skyband.restore, type(opened()).restore, cover.snapshot, cover.restore):
        assert str(refusal(partial(action, folder))).startswith("folder is the path of a folder, not ")


def test_ids_in_an_array_of_no_type_of_ours() -> None:
    engine, ids = opened(), np.zeros(2, [("a", int)])
    cover = skyband.CoverSet()
    for verb in (engine.top, engine.unsubscribe, engine.gates, engine.staircase, cover.remove, cover.covered_by):
        assert str(refusal(partial(verb, ids))).startswith("The column id is an array of dtype([('a', ")
    assert refusal(partial(engine.resize, ids, 2)) is not None


def test_options_that_a_cover_set_does_not_have() -> None:
    assert refusal(lambda: skyband.CoverSet(zzz=1)) == (
        "CoverSet has no option 'zzz'; its options are search, epsilon, bits, curve, domains, on_error."
    )
    wrong = skyband.Domain(0, 1, "yes")  # type: ignore[arg-type]  # that is the test
    assert refusal(lambda: skyband.CoverSet(domains=wrong)) == "integer of a domain is True or False, not 'yes'."


@pytest.mark.parametrize(
    ("family", "given", "has_no"),
    [
        ("ranges", {"window": "10m"}, "windows: leave the default window out"),
        ("ranked", {"window": Window.count(3)}, "windows: leave the default window out"),
        ("window", {"bounds": skyband.Bounds(0, 0, 1, 1)}, "bounds and no words: leave them out"),
        ("ranked", {"words": skyband.Words(1, {"a": 1})}, "bounds and no words: leave them out"),
    ],
)
def test_what_a_family_has_no_use_for(family: str, given: dict[str, Any], has_no: str) -> None:
    assert refusal(partial(skyband.open, family, **given)) == f"The family {family} has no {has_no}."


def test_a_mapping_is_a_row_or_columns() -> None:
    engine = opened()
    engine.publish({"id": 2, "ts": 6, "point": np.array([0.5])})
    engine.publish({"id": [3, 4], "ts": (7, 8), "point": [[0.1], [0.2]]})
    assert engine.top("ann")["publication"].to_pylist() == [3]
    with pytest.raises(ValueError, match=r"^The column ts is 9 and not a list: a mapping is one row, with"):
        engine.publish({"id": [5], "ts": 9, "point": [[1.0]]})
    with pytest.raises(skyband.Rejected, match="column ts"):
        engine.publish({"id": 5, "ts": [9], "point": [1.0]})


def test_names_of_files() -> None:
    with pytest.raises(UnreadableFile, match=r"is not the name of a file\.$"):
        opened().publish("a\0b.csv")
    with pytest.raises(UnreadableFile, match=r"^'\\ud800\.csv' is not the name of a file\.$"):
        opened().publish("\ud800.csv")


@pytest.mark.parametrize("family", sorted({kind.family for kind in ENGINES}))
def test_lists_without_an_end_are_refused(family: str) -> None:
    """Arrow follows them until the process dies."""
    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    engine = skyband.open(family, "oracle")
    for value in (endless, deep):
        before = state(engine)
        for verb in ("top", "unsubscribe") if family != "ranked" else ("budgets", "unsubscribe"):
            assert refusal(partial(getattr(engine, verb), value)) is not None
        for verb, row in (("subscribe", ASKED[family]), ("publish", SAID[family])):
            for column in ("id", *(name for name in row if isinstance(row[name], list))):
                assert refusal(partial(getattr(engine, verb), row | {column: value})) is not None
        assert state(engine) == before


@pytest.mark.parametrize("name", ["policy", "settings", "self"])
def test_options_that_only_the_class_has_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"has no option '{name}'"):
        skyband.open("window", "blocks", **cast("dict[str, Any]", {name: "margin"}))
