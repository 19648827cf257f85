"""No row can stop a pipeline, whatever it holds: it is used or refused, alone and among others alike. No Spark here."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.stage.router import Router
from skyband.pipeline.stage.zone import Zone
from skyband.pipeline.state.spec import RAW
from skyband.workload.draw import draws_of
from tests.pipeline.streams import shape_of

FAMILIES = ("window", "geotext", "ranges", "ranked")
# Half of a character, which JSON can write and Unicode does not have.
HALF = "\ud800"
WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 2**62, 2**63, 2**64, 10**400, float("nan"), float("inf"), 1e300, -0.0),
        *(
            "",
            "x",
            "1",
            "NaN",
            HALF,
            f"a{HALF}b",
            "\x00",
            "\u2028",
            "😀",
            "x" * 5000,
            "2024-02-30",
            "9999999999999999999",
        ),
        *([], [None], [1], [1, "x"], [[1]], [HALF], [float("nan")] * 2, [1e308] * 2, {}, {"a": 1}, [{}]),
    ]
)


# Some of these ended the whole process when they were read.
NO_ROWS = ["", " ", "\n", "null", "7", '"x"', "[]", "{}", "\ufeff{}", "[" * 2000, "{" * 2000]
NO_ROWS += ['{"id": ' + "[" * depth + "]" * depth + "}" for depth in (90, 900, 20_000)]
NO_ROWS += ['{"id": ' * depth + "1" + "}" * depth for depth in (90, 900, 20_000)]


@st.composite
def poisoned(draw: st.DrawFn, family: str) -> tuple[str, str]:
    """The noun and the text of a row: a good one in which a few values are replaced, left out or added."""
    noun = draw(st.sampled_from(["subscriptions", "publications"]))
    row: dict[str, Any] = {"id": draw(st.sampled_from(["a", "b", "c"])), "ts": draw(st.integers(-3, 3))}
    row |= draw(draws_of(family).subscriptions if noun == "subscriptions" else draws_of(family).publications)
    if noun == "subscriptions":
        row["op"] = draw(st.sampled_from(["subscribe", "subscribe", "unsubscribe", "resize", "advance"]))
    else:
        row["op"] = draw(st.sampled_from([None, "publish", "retract"]))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from([*sorted(row), "ts", "op", "k", "window_us", "window_n", "budget", "else", HALF]))
        if draw(st.booleans()):
            row[name] = draw(WRONG)
        else:
            row.pop(name, None)
    text = json.dumps(row)
    return noun, draw(st.sampled_from([text] * 12 + [text[: len(text) // 2], *NO_ROWS]))


def raw_rows(rows: list[tuple[str, str]]) -> pa.Table:
    """Rows as sources yield them."""
    plain = [
        {"noun": noun, "origin": "o", "offset": offset, "form": "json", "value": value}
        for offset, (noun, value) in enumerate(rows)
    ]
    return pa.Table.from_pylist(plain, schema=RAW)


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_every_row_is_used_or_refused(family: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(poisoned(family), min_size=1, max_size=6))
    shape = shape_of(family, 2, window="time" if family in ("window", "geotext") else "none")
    whole = prepare_rows(raw_rows(rows), shape)
    assert whole["offset"].to_pylist() == list(range(len(rows)))
    is_good, is_bad = pc.is_valid(whole["op"]).to_pylist(), pc.is_valid(whole["reason"]).to_pylist()
    assert [good != bad for good, bad in zip(is_good, is_bad, strict=True)] == [True] * len(rows)
    for (_, text), kept, reason in zip(rows, whole["row"].to_pylist(), whole["reason"].to_pylist(), strict=True):
        assert kept == (None if reason is None else text)
    # Which other rows are there does not matter.
    alone = pa.concat_tables([prepare_rows(raw_rows(rows).slice(place, 1), shape) for place in range(len(rows))])
    assert repr(alone.to_pylist()) == repr(whole.to_pylist())
    router, zones = Router(shape), [Zone(shape, number) for number in range(2)]
    for batch in range(2):
        routing = router.route(batch, whole)
        for zone in zones:
            zone.apply(batch, routing.rows.filter(pc.equal(routing.rows["zone"], zone.number)))
        assert pc.is_valid(routing.dead["row"]).to_pylist() == [True] * len(routing.dead)
