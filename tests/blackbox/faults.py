"""What can be wrong with a cell: for each kind of column the values that the file contract rejects, as JSON."""

from dataclasses import dataclass

from tests.blackbox.oracle import Row

HUGE = "1" + "0" * 400
LISTS = ("[]", "[1, null]", '[1, "a"]', "[1, true]", "[[1, 2], 3]", "[1, 2, 3]", "5", "true", '"here"', '{"a": 1}')
VECTOR = (*LISTS, "[1, NaN]", "[1, Infinity]", "[1, 1e200]", "[1, -1e308]", "[1, 1e400]", f"[1, {HUGE}]", '["1", "2"]')
NUMBER = ("null", '"a"', "true", "[1]", '{"a": 1}', "NaN", "Infinity", "-Infinity", "1e151", "-1e308", "1e400", HUGE)
LINE = ("[1, 2]", *(text for text in NUMBER if text != "[1]"))
INTEGER = ("0", "-1", "1.5", "true", '"a"', "[1]", '{"a": 1}', "NaN", "Infinity", "1e400", "9223372036854775808", HUGE)
TIME = ("null", '"noon"', '"2024-13-01"', "true", "1.5", "[1]", '{"a": 1}', "NaN", "2305843009213693953",
        "-9223372036854775809", "1e300", HUGE)  # fmt: skip
IDS = ("null", "1.5", "7.0", "true", "[1]", '{"a": 1}', '"seven"', "NaN", "9223372036854775808", HUGE)
# In a CSV file these cells are good, or make the whole column one of strings.
GOOD_IN_CSV = {"id": IDS[1:], "object": IDS[1:]}


@dataclass(frozen=True)
class Table:
    """Good rows of one file of a family, and for each column the cells that spoil a row."""

    good: list[Row]
    bad: dict[str, tuple[str, ...]]


POINTS = [{"id": i, "ts": 10 * i, "point": [float(i), 1.0]} for i in range(4)]
ASKED = {"k": 2, "score": "euclidean", "point": [0.0, 0.0]}
MESSAGES = [
    {"id": i, "ts": 10 * i, "x": 0.25 * i, "y": 0.5, "terms": ["a", "b"], "weights": [0.6, 0.8]} for i in range(4)
]
PLACED = {"k": 2, "x": 0.0, "y": 0.0, "terms": ["a"], "weights": [1.0], "alpha": 0.5}
EVENTS = [{"id": i, "ts": 10 * i, "object": i % 2, "x": float(i), "y": 1.0} for i in range(4)]
VISITORS = [{"id": i, "ts": 10 * i, "point": [float(i), 1.0], "upper": None, "k": 2} for i in range(4)]
OFFER = {"lo": [0.0, 0.0], "hi": [2.0, 9.0], "weights": [1.0, 2.0], "budget": 3}
WINDOWS = {"window_us": INTEGER, "window_n": INTEGER, "threshold": NUMBER[1:]}
WEIGHTS = ("[1]", "[0.6, 0.8, 0]", "[0.5, 0.5]", "[0.6, -0.8]", "[0.6, null]", '["a", "b"]', "0.6", '"a"', "[NaN, 1]")
TERMS = ('["a", null]', '["a", "a"]', "[1, 2]", '[["a"], ["b"]]', "5", "true", '{"a": 1}')
LEVEL = ("null", '"a"', "true", "NaN", '["a"]', "[NaN]", "[null]", "[[1]]", '{"a": 1}')
SIDES = ("null", '"a"', "5", "[1]", "[1, 2, 3]", "[NaN, 1]", '["a", 1]', "[true, 1]", "[[1], 1]", '{"a": 1}')


def numbered(row: Row) -> list[Row]:
    """Three subscriptions that ask for the same."""
    return [{"id": i, **row} for i in range(3)]


TABLES: dict[tuple[str, str], Table] = {
    ("window", "publications"): Table(POINTS, {"id": IDS, "ts": TIME, "point": ("null", *VECTOR)}),
    ("window", "subscriptions"): Table(
        numbered(ASKED | {"window_us": None, "window_n": None, "threshold": None}),
        {
            "id": IDS,
            "k": ("null", "1000001", *INTEGER),
            "score": ("null", '"best"', "5", "true", "[1]"),
            "point": ("null", *VECTOR),
            **WINDOWS,
        },
    ),
    ("geotext", "publications"): Table(
        MESSAGES,
        {"id": IDS, "ts": TIME, "x": ("1.5", "-0.1", *NUMBER), "y": NUMBER, "terms": TERMS, "weights": WEIGHTS},
    ),
    ("geotext", "subscriptions"): Table(
        numbered(PLACED),
        {
            "id": IDS,
            "k": ("null", *INTEGER),
            "x": NUMBER,
            "alpha": ("-0.1", "1.1", *NUMBER),
            "terms": ("[]", *TERMS),
        },
    ),
    ("ranges", "publications"): Table(EVENTS, {"id": IDS, "ts": TIME, "object": IDS, "x": LINE, "y": NUMBER[1:]}),
    ("ranges", "subscriptions"): Table(
        numbered({"k": 2, "lo": 0.0, "hi": 2.0}), {"id": IDS, "k": INTEGER, "lo": ("3", *LEVEL), "hi": ("-1", *LEVEL)}
    ),
    ("ranked", "publications"): Table(
        VISITORS,
        {
            "id": IDS,
            "ts": TIME,
            "point": ("null", "5", '"a"', "[1]", "[1, 2, 3]", '["a", 1]', "[1, 1e200]", "[[1], 1]"),
            "upper": ("5", "[9]", "[-1, 1]", '["a", 9]', "[9, NaN, 1]"),
            "k": INTEGER,
        },
    ),
    ("ranked", "subscriptions"): Table(
        numbered(OFFER),
        {
            "id": IDS,
            "lo": ("[3, 0]", *SIDES),
            "hi": ("[-1, 0]", *SIDES),
            "weights": ("[-1, 1]", "[1]", "5", "[NaN, 1]", '["a", 1]', "[1, 1e200]"),
            "budget": INTEGER[1:],
        },
    ),
    ("covering", "subscriptions"): Table(
        numbered({"lo": [0.0, 0.0], "hi": [2.0, 9.0]}),
        {"id": IDS, "lo": ("[3, 0]", "[]", *SIDES), "hi": ("[-1, 0]", "[]", *SIDES)},
    ),
}
