"""Every rule of every family: one row that is accepted and one that is rejected, with the exact sentence."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.contract.family import FAMILIES, infer_family
from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import Bounds, MissingColumn, Settings, Window
from skyband.table.words import Words
from skyband.topk.score import Score

Row = dict[str, Any]

GOOD: dict[str, Row] = {
    "window publications": {"id": 1, "ts": 0, "point": [0.5, 1.0]},
    "window subscriptions": {"id": 1, "k": 3, "score": "euclidean", "point": [0.5, 1.0]},
    "geotext publications": {
        "id": 1,
        "ts": 0,
        "x": 0.5,
        "y": 1.0,
        "terms": ["a", "b"],
        "weights": [0.6, 0.8],
    },
    "geotext subscriptions": {
        "id": 1,
        "k": 3,
        "x": 0.5,
        "y": 0.0,
        "terms": ["a", "b"],
        "weights": [0.6, 0.8],
        "alpha": 0.5,
    },
    "ranges publications": {"id": 1, "ts": 0, "object": "o", "x": 1.0, "y": 2.0},
    "ranges subscriptions": {"id": 1, "k": 3, "lo": 1.0, "hi": 2.0},
    "ranked publications": {"id": 1, "ts": 0, "point": [0.5, None]},
    "ranked subscriptions": {"id": 1, "lo": [0.0, 0.0], "hi": [1.0, 1.0], "weights": [1.0, 0.5]},
    "covering subscriptions": {"id": 1, "lo": [0.0, 0.0], "hi": [1.0, 1.0]},
}
FINITE = "{} must hold finite numbers of magnitude at most 1e150"
ONE_FINITE = "{} must be a finite number of magnitude at most 1e150"


def read(what: str, rows: Any, settings: Settings | None = None) -> Any:
    family, noun = what.split()
    reader = read_publications if noun == "publications" else read_subscriptions
    return reader(family, rows, settings or Settings(), on_error="collect")


ACCEPTED: list[tuple[str, Row]] = [
    ("window publications", {}),
    ("window publications", {"id": "ä"}),
    ("window publications", {"id": -(2**63), "ts": 2**63 - 1}),
    ("window publications", {"ts": "2024-01-01T00:00:00+02:00"}),
    ("window publications", {"ts": 3.0}),
    ("window publications", {"point": [1, 2]}),
    ("window publications", {"point": [1e150, -1e150]}),
    ("window publications", {"other": {"any": "thing"}}),
    ("window subscriptions", {"k": 1_000_000}),
    ("window subscriptions", {"k": 3.0}),
    ("window subscriptions", {"k": None, "threshold": 0.5}),
    ("window subscriptions", {"window_us": 1}),
    ("window subscriptions", {"window_n": 1, "window_us": None}),
    ("window subscriptions", {"score": "chebyshev"}),
    ("window subscriptions", {"score": "chebyshev", "weights": [0.0, 2.0]}),
    ("window subscriptions", {"score": "sum", "point": None, "weights": [-1.0, 2.0]}),
    ("window subscriptions", {"score": "cosine"}),
    ("window subscriptions", {"score": "cosine", "point": None, "weights": [-1.0, 2.0]}),
    ("geotext publications", {"x": 0.0, "y": 1.0}),
    ("geotext publications", {"terms": [], "weights": []}),
    ("geotext publications", {"terms": None, "weights": None}),
    ("geotext publications", {"weights": [0.6 + 5e-7, 0.8]}),
    ("geotext subscriptions", {"alpha": 0}),
    ("geotext subscriptions", {"alpha": 1.0, "k": None, "threshold": 1.0}),
    ("geotext subscriptions", {"weights": None}),
    ("ranges publications", {"y": None}),
    ("ranges publications", {"y": None, "x": None}),
    ("ranges publications", {"x": [1.0, 2.0]}),
    ("ranges subscriptions", {"lo": 2.0}),
    ("ranges subscriptions", {"lo": float("-inf"), "hi": float("inf")}),
    ("ranges subscriptions", {"lo": [0.0, float("-inf")], "hi": [1.0, 1.0]}),
    ("ranked publications", {"point": [None, None]}),
    ("ranked subscriptions", {"lo": [None, 0.0], "hi": [1.0, None]}),
    ("ranked publications", {"upper": None, "k": None}),
    ("ranked publications", {"upper": [0.5, None], "k": 1}),
    ("ranked publications", {"upper": [float("nan"), None], "k": 1_000_000}),
    ("ranked subscriptions", {"weights": None, "k": "ignored"}),
    ("ranked subscriptions", {"dims": None, "budget": 0}),
    ("covering subscriptions", {"lo": 1, "hi": 1.5}),
    ("covering subscriptions", {"lo": [None, 0.0], "hi": [None, 0.0]}),
]


@pytest.mark.parametrize(("what", "edit"), ACCEPTED)
def test_accepted(what: str, edit: Row) -> None:
    rows = read(what, [GOOD[what] | edit])
    assert rows.rejects == []
    assert rows.parsed.kept.tolist() == [0]


REJECTED: list[tuple[str, Row, str, str]] = [
    ("window publications", {"id": None}, "id", "id must not be null"),
    (
        "window publications",
        {"id": 1.0},
        "id",
        "id must be an integer or text; a floating-point number may have lost digits",
    ),
    ("window publications", {"id": True}, "id", "id must be an integer or text"),
    ("window publications", {"id": 2**63}, "id", "id is beyond the range of 64-bit integers"),
    ("window publications", {"id": "\ud800"}, "id", "id is not valid Unicode text"),
    ("window publications", {"ts": None}, "ts", "ts must not be null"),
    ("window publications", {"ts": 2**63}, "ts", "ts is beyond the range of 64-bit integers"),
    ("window publications", {"ts": 0.5}, "ts", "ts must be an integer"),
    ("window publications", {"ts": 1e17}, "ts", "ts is a floating-point number too large to be exact"),
    (
        "window publications",
        {"ts": "noon"},
        "ts",
        "ts must be an integer of microseconds or an ISO 8601 time",
    ),
    (
        "window publications",
        {"ts": "2024-01-01T00:00:00.1234567"},
        "ts",
        "ts has a fraction of a microsecond, which would be lost",
    ),
    ("window publications", {"point": None}, "point", "point must not be null"),
    ("window publications", {"point": 1.0}, "point", "point must be a list of numbers"),
    ("window publications", {"point": ["1"]}, "point", "point must be a list of numbers"),
    ("window publications", {"point": [True]}, "point", "point must be a list of numbers"),
    (
        "window publications",
        {"point": [2**53 + 1]},
        "point",
        "point is an integer too large for a double to hold exactly",
    ),
    ("window publications", {"point": []}, "point", "point must hold at least one number"),
    ("window publications", {"point": [1.0, None]}, "point", "point must not hold nulls"),
    ("window publications", {"point": [1.0, float("nan")]}, "point", FINITE.format("point")),
    ("window publications", {"point": [1.0, float("inf")]}, "point", FINITE.format("point")),
    ("window publications", {"point": [1.0, float("-inf")]}, "point", FINITE.format("point")),
    ("window publications", {"point": [1.0, 1.1e150]}, "point", FINITE.format("point")),
    ("window subscriptions", {"k": None}, "k", "k must not be null without a threshold"),
    ("window subscriptions", {"k": 0}, "k", "k must be at least 1"),
    ("window subscriptions", {"k": -1, "threshold": 1.0}, "k", "k must be at least 1"),
    ("window subscriptions", {"k": 1_000_001}, "k", "k must be at most 1000000"),
    ("window subscriptions", {"k": 2.5}, "k", "k must be an integer"),
    ("window subscriptions", {"k": True}, "k", "k must be an integer"),
    ("window subscriptions", {"k": "3"}, "k", "k must be an integer"),
    ("window subscriptions", {"score": None}, "score", "score must not be null"),
    ("window subscriptions", {"score": 3}, "score", "score must be text"),
    (
        "window subscriptions",
        {"score": "manhattan"},
        "score",
        "score must be one of euclidean, chebyshev, sum, cosine, geodesic",
    ),
    ("window subscriptions", {"threshold": float("nan")}, "threshold", ONE_FINITE.format("threshold")),
    ("window subscriptions", {"threshold": "high"}, "threshold", "threshold must be a number"),
    ("window subscriptions", {"window_us": 0}, "window_us", "window_us must be greater than 0"),
    ("window subscriptions", {"window_n": -1}, "window_n", "window_n must be greater than 0"),
    (
        "window subscriptions",
        {"window_n": 1, "window_us": 1},
        "window_n",
        "window_us and window_n must not both be given",
    ),
    ("window subscriptions", {"point": None}, "point", "euclidean needs a point"),
    ("window subscriptions", {"score": "chebyshev", "point": None}, "point", "chebyshev needs a point"),
    ("window subscriptions", {"score": "sum", "point": None}, "weights", "sum needs weights"),
    (
        "window subscriptions",
        {"score": "cosine", "point": None},
        "weights",
        "cosine needs weights or a point",
    ),
    (
        "window subscriptions",
        {"score": "cosine", "weights": [1.0, 1.0]},
        "point",
        "cosine takes weights or a point, not both",
    ),
    (
        "window subscriptions",
        {"score": "chebyshev", "weights": [1.0, -1.0]},
        "weights",
        "chebyshev weights must not be negative",
    ),
    (
        "window subscriptions",
        {"score": "chebyshev", "weights": [1.0]},
        "weights",
        "weights must hold as many numbers as point",
    ),
    ("geotext publications", {"x": None}, "x", "x must not be null"),
    ("geotext publications", {"x": float("nan")}, "x", ONE_FINITE.format("x")),
    ("geotext publications", {"x": "east"}, "x", "x must be a number"),
    ("geotext publications", {"y": 1.5}, "y", "y must lie within the bounds, 0 to 1"),
    ("geotext publications", {"terms": "a"}, "terms", "terms must be a list of words"),
    ("geotext publications", {"terms": ["a", None]}, "terms", "terms must not hold nulls"),
    ("geotext publications", {"terms": ["a", "a"]}, "terms", "terms must not hold the same term twice"),
    ("geotext publications", {"weights": [1.0]}, "weights", "weights must be as many as terms, not 1 for 2"),
    ("geotext publications", {"weights": [0.6, None]}, "weights", "weights must not hold nulls"),
    ("geotext publications", {"weights": [1.0, 0.0]}, "weights", "weights must all be greater than 0"),
    ("geotext publications", {"weights": [0.6, float("nan")]}, "weights", FINITE.format("weights")),
    ("geotext publications", {"weights": [0.6, 0.6]}, "weights", "weights must have length 1, not 0.8485281"),
    (
        "geotext publications",
        {"weights": None},
        "weights",
        "give terms with weights, or a words model to weigh them",
    ),
    (
        "geotext publications",
        {"weights": None, "terms": None, "text": "a b"},
        "weights",
        "give terms with weights, or a words model to weigh them",
    ),
    ("geotext publications", {"text": 3}, "text", "text must be text"),
    ("geotext subscriptions", {"alpha": None}, "alpha", "alpha must not be null"),
    ("geotext subscriptions", {"alpha": 1.01}, "alpha", "alpha must be a number from 0 to 1"),
    ("geotext subscriptions", {"alpha": float("nan")}, "alpha", "alpha must be a number from 0 to 1"),
    (
        "geotext subscriptions",
        {"terms": [], "weights": []},
        "terms",
        "a subscription must have at least one term",
    ),
    (
        "geotext subscriptions",
        {"terms": None, "weights": None},
        "terms",
        "a subscription must have at least one term",
    ),
    (
        "geotext subscriptions",
        {"terms": None, "weights": None, "text": "jazz"},
        "text",
        "give terms, or a words model to find them in the text",
    ),
    ("ranges publications", {"object": None}, "object", "object must not be null"),
    ("ranges publications", {"x": None}, "x", "x must not be null unless y is null too, to delete"),
    ("ranges publications", {"x": "east"}, "x", "x must be a number or a list of numbers"),
    ("ranges publications", {"x": [None]}, "x", "x must not hold nulls"),
    ("ranges publications", {"x": float("inf")}, "x", FINITE.format("x")),
    (
        "ranges publications",
        {"y": float("nan")},
        "y",
        "y must be a finite number of magnitude at most 1e150, or null to delete",
    ),
    ("ranges subscriptions", {"k": None}, "k", "k must not be null"),
    ("ranges subscriptions", {"lo": None}, "lo", "lo must not be null"),
    ("ranges subscriptions", {"lo": [None], "hi": [1.0]}, "lo", "lo must not hold nulls"),
    ("ranges subscriptions", {"hi": float("nan")}, "hi", "hi must not hold NaN"),
    ("ranges subscriptions", {"lo": 3.0}, "lo", "lo must not be greater than hi in any dimension"),
    ("ranges subscriptions", {"lo": [1.0, 1.0]}, "hi", "lo has 2 numbers and hi has 1"),
    ("ranked publications", {"point": [float("inf"), 1.0]}, "point", FINITE.format("point")),
    ("ranked publications", {"upper": [float("inf"), None]}, "upper", FINITE.format("upper")),
    ("ranked publications", {"upper": [1.0]}, "upper", "upper must hold as many numbers as point"),
    (
        "ranked publications",
        {"upper": [1.0, 1.0]},
        "upper",
        "upper must be null in the dimensions that point does not have",
    ),
    ("ranked publications", {"upper": [0.4, None]}, "upper", "upper must not be less than point in any dimension"),
    ("ranked publications", {"k": 0}, "k", "k must be at least 1"),
    ("ranked publications", {"k": 1_000_001}, "k", "k must be at most 1000000"),
    ("ranked publications", {"k": "3"}, "k", "k must be an integer"),
    ("ranked subscriptions", {"budget": -1}, "budget", "budget must not be negative"),
    ("ranked subscriptions", {"budget": 0.5}, "budget", "budget must be an integer"),
    ("ranked subscriptions", {"dims": [1.0, 0.5]}, "dims", "dims must hold integers from 0 up"),
    ("ranked subscriptions", {"dims": [1, -1]}, "dims", "dims must hold integers from 0 up"),
    ("ranked subscriptions", {"dims": [1, None]}, "dims", "dims must not hold nulls"),
    ("ranked subscriptions", {"dims": [1, 1]}, "dims", "dims must not hold the same dimension twice"),
    ("ranked subscriptions", {"dims": [1]}, "dims", "dims must hold as many numbers as lo, hi and weights"),
    ("ranked subscriptions", {"lo": None}, "lo", "lo must not be null"),
    ("ranked subscriptions", {"lo": [float("nan"), 0.0]}, "lo", "lo must not hold NaN"),
    ("ranked subscriptions", {"lo": [0.0, 2.0]}, "lo", "lo must not be greater than hi in any dimension"),
    ("ranked subscriptions", {"weights": [1.0, -1.0]}, "weights", "weights must not be negative"),
    ("ranked subscriptions", {"weights": [1.0, float("inf")]}, "weights", FINITE.format("weights")),
    (
        "ranked subscriptions",
        {"weights": [1.0]},
        "weights",
        "weights must hold as many numbers as lo and hi",
    ),
    ("covering subscriptions", {"lo": None}, "lo", "lo must not be null"),
    ("covering subscriptions", {"hi": [1.0, -1.0]}, "lo", "lo must not be greater than hi in any dimension"),
]


@pytest.mark.parametrize(("what", "edit", "column", "reason"), REJECTED)
def test_rejected(what: str, edit: Row, column: str, reason: str) -> None:
    """Between two good rows, a value of another type makes its column be read cell by cell."""
    good = GOOD[what]
    later = good | {"id": 2} if edit.get("id") != "\ud800" else good | {"id": "2"}
    first = later | {"id": 0} if edit.get("id") != "\ud800" else good | {"id": "0"}
    rows = read(what, [first, good | edit, later])
    assert [(r.row, r.column, r.reason) for r in rows.rejects] == [(2, column, reason)]
    assert rows.parsed.kept.tolist() == [0, 2]
    assert rows.table.num_rows == 2


@pytest.mark.parametrize(("what", "edit", "column", "reason"), REJECTED)
def test_rejected_alone(what: str, edit: Row, column: str, reason: str) -> None:
    """Alone, the same row makes a column that Arrow can type; the verdict is the same."""
    rows = read(what, [GOOD[what] | edit])
    assert [(r.row, r.column, r.reason) for r in rows.rejects] == [(1, column, reason)]
    assert rows.parsed.kept.tolist() == []


def test_mixed_ids_keep_the_type_of_the_first() -> None:
    rows = read("window publications", [GOOD["window publications"] | {"id": i} for i in ("a", 1, "b")])
    assert [str(r) for r in rows.rejects] == [
        "row 2, column id, value 1: id is an integer in a column that began with text; one column has one type of id"
    ]
    assert rows.parsed.rows.ids.to_pylist() == ["a", "b"]


def test_duplicates_after_the_first_are_rejected() -> None:
    rows = read("window publications", [GOOD["window publications"] | {"id": i} for i in (7, 8, 7, 7)])
    assert [(r.row, r.reason) for r in rows.rejects] == [
        (3, "id is already in row 1"),
        (4, "id is already in row 1"),
    ]


def test_dimensions_follow_the_first_valid_row_or_the_settings() -> None:
    points = [[float("nan")], [1.0, 2.0], [1.0], [3.0, 4.0]]
    table = [{"id": i, "ts": i, "point": point} for i, point in enumerate(points)]
    rows = read("window publications", table)
    assert [(r.row, r.reason) for r in rows.rejects][1:] == [(3, "point has 1 number where 2 are expected")]
    assert rows.parsed.rows.points.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    rows = read("window publications", table, Settings(dims=1))
    assert [r.row for r in rows.rejects] == [1, 2, 4]
    assert rows.rejects[1].reason == "point has 2 numbers where 1 is expected"


@pytest.mark.parametrize("dims", [None, 3])
@pytest.mark.parametrize("what", GOOD)
def test_an_empty_batch_has_the_dims_of_the_settings(what: str, dims: int | None) -> None:
    settings = Settings(dims=dims)
    sources: list[Any] = [[], pa.table({name: pa.nulls(0) for name in GOOD[what]})]
    for source in sources:
        rows = read(what, source, settings).parsed.rows
        matrices = [a for a in rows if isinstance(a, np.ndarray) and a.ndim == 2]
        assert len(rows.ids) == 0
        assert rows.ids.type == pa.string()
        if "geotext" not in what:
            assert {matrix.shape for matrix in matrices} <= {(0, dims or 0)}


@pytest.mark.parametrize("what", GOOD)
def test_arrays_are_contiguous_writable_and_native(what: str) -> None:
    bad = GOOD[what] | {"id": None}
    for rows in ([GOOD[what]], [GOOD[what], bad]):
        parsed = read(what, rows).parsed.rows
        for array in (a for a in (*parsed, *getattr(parsed, "window", ())) if isinstance(a, np.ndarray)):
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert array.dtype.isnative


@pytest.mark.parametrize("what", GOOD)
def test_a_missing_column_is_one_error(what: str) -> None:
    row = {name: value for name, value in GOOD[what].items() if name != "id"}
    found = ", ".join(row)
    with pytest.raises(MissingColumn) as caught:
        read(what, [row])
    assert str(caught.value) == f'{what.capitalize()} need the column "id" (columns found: {found}).'


def test_either_of_two_columns_will_do() -> None:
    with pytest.raises(MissingColumn, match=r'need the column "k" or "threshold" \(columns found: id, score\)'):
        read("window subscriptions", [{"id": 1, "score": "sum"}])


def test_scores_vectors_weights_and_windows_of_subscriptions() -> None:
    base = GOOD["window subscriptions"]
    table = [
        base | {"id": 1, "window_us": 5},
        base | {"id": 2, "score": "chebyshev", "weights": [2.0, 3.0], "window_n": 7},
        base | {"id": 3, "score": "sum", "point": None, "weights": [-2.0, 3.0]},
        base | {"id": 4, "score": "cosine", "point": None, "weights": [4.0, 5.0], "threshold": 0.5, "k": None},
    ]
    rows = read("window subscriptions", table, Settings(window=Window.count(9))).parsed.rows
    assert rows.score.tolist() == [Score.EUCLIDEAN, Score.CHEBYSHEV, Score.SUM, Score.COSINE]
    assert rows.points.tolist() == [[0.5, 1.0], [0.5, 1.0], [-2.0, 3.0], [4.0, 5.0]]
    assert rows.weights.tolist() == [[1.0, 1.0], [2.0, 3.0], [1.0, 1.0], [1.0, 1.0]]
    assert rows.window.kind.tolist() == [1, 2, 2, 2]
    assert rows.window.size.tolist() == [5, 7, 9, 9]
    assert rows.k.tolist() == [3, 3, 3, 1]
    assert np.isnan(rows.threshold).tolist() == [True, True, True, False]


def test_a_words_model_weighs_what_has_no_weights() -> None:
    words = Words.fit_texts(["jazz tonight", "jazz bar", "rain"])
    base = GOOD["geotext publications"] | {"weights": None}
    table = [
        base | {"id": 1, "terms": ["rain", "jazz"]},
        base | {"id": 2, "terms": None, "text": "Jazz, jazz & rain!"},
        GOOD["geotext publications"] | {"id": 3},
        base | {"id": 4, "terms": None, "text": "..."},
    ]
    rows = read("geotext publications", table, Settings(words=words)).parsed.rows
    assert rows.offsets.tolist() == [0, 2, 4, 6, 6]
    assert rows.terms.to_pylist() == ["rain", "jazz", "jazz", "rain", "a", "b"]
    assert rows.weights[:2].tolist() == words.weigh(["rain", "jazz"])[1]
    assert rows.weights[2:4].tolist() == words.weigh(["jazz", "jazz", "rain"])[1]


def test_without_a_words_model_the_terms_of_a_subscription_weigh_the_same() -> None:
    base = GOOD["geotext subscriptions"] | {"weights": None, "terms": ["a", "b", "c", "d"]}
    assert read("geotext subscriptions", [base]).parsed.rows.weights.tolist() == [0.5] * 4


def test_bounds_of_the_settings_hold() -> None:
    settings = Settings(bounds=Bounds(-10, -10, 10, 10))
    assert not read("geotext publications", [GOOD["geotext publications"] | {"x": -10}], settings).rejects


def test_deletions_and_missing_dimensions_are_nan() -> None:
    base = GOOD["ranges publications"]
    rows = read("ranges publications", [base, base | {"id": 2, "x": None, "y": None}]).parsed.rows
    assert rows.deleted.tolist() == [False, True]
    assert np.isnan(rows.x).tolist() == [[False], [True]]
    assert np.isnan(read("ranked publications", [GOOD["ranked publications"]]).parsed.rows.points).any()


@pytest.mark.parametrize("family", FAMILIES)
def test_infer_family_from_canonical_columns(family: str) -> None:
    publications = FAMILIES[family].publications
    names = publications.names if publications is not None else []
    assert infer_family(names, FAMILIES[family].subscriptions.names) == family


def test_infer_family_says_what_it_found() -> None:
    with pytest.raises(ValueError, match=r"The columns fit no family; name the family \(publications have a, id; "):
        infer_family(["id", "a"], ["id", "b"])
    with pytest.raises(ValueError, match="The columns fit window and ranked alike"):
        infer_family(["id", "point"], [])


def test_covering_has_no_publications() -> None:
    with pytest.raises(ValueError, match=r"The family covering has no publications\."):
        read("covering publications", [])


def test_a_vector_that_a_score_has_no_use_for_is_ignored() -> None:
    rows = [
        {"id": 1, "k": 1, "score": "euclidean", "point": [1.0, 2.0], "weights": [5.0, 6.0]},
        {"id": 2, "k": 1, "score": "sum", "point": [1.0, 2.0], "weights": [5.0, 6.0]},
    ]
    parsed = FAMILIES["window"].parse_subscriptions(pa.Table.from_pylist(rows), Settings())
    assert parsed.rejects == []
    assert parsed.rows.points.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert parsed.rows.weights.tolist() == [[1.0, 1.0], [1.0, 1.0]]
