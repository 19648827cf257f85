"""Frames of every kind, drawn at random, and what reads them."""

import math
from typing import Any

from hypothesis import strategies as st

from skyband.broker.wire.body import FrameFamily
from skyband.contract import FAMILIES
from skyband.overlay.broker.frame import (
    COLUMNS,
    Acknowledge,
    Delivered,
    Deregister,
    Envelope,
    Forwarded,
    Frame,
    GivenUp,
    Hello,
    Proxy,
    Publication,
    PublicationFrame,
    Recall,
    Register,
    Silence,
    Want,
    Withdraw,
    fields_size,
)
from skyband.table import Settings

NAMES = ("berlin", "oslo", "rome")
FAMILY = FrameFamily(FAMILIES["window"].routing, Settings(dims=2), NAMES)
MESSAGES = FrameFamily(FAMILIES["geotext"].routing, Settings(), NAMES)

longs = st.integers(-(2**63), 2**63 - 1)
counts = st.integers(0, 2**63 - 1)
ids = st.one_of(longs, st.text(max_size=20))
brokers = st.integers(0, len(NAMES) - 1)
columns = st.sampled_from(COLUMNS)
coordinates = st.floats(-1e100, 1e100)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def publications(draw: Any) -> Publication:
    """Points of the window family, and messages with words; with columns that nobody asks for."""
    origin, is_message = draw(brokers), draw(st.booleans())
    name = f"{NAMES[origin]}/{draw(st.text(max_size=20))}"
    row: dict[str, Any] = {"note": draw(anything), "id": name, "ts": draw(st.integers(0, 2**60))}
    if is_message:
        row |= {"x": draw(st.floats(0, 1)), "y": draw(st.floats(0, 1)), "terms": ["jazz", "čaj"], "weights": [0.6, 0.8]}
    else:
        row["point"] = [draw(coordinates), draw(coordinates)]
    family = MESSAGES if is_message else FAMILY
    spoken = family.routing.spoken(row, family.settings)
    retracted = draw(st.one_of(st.none(), longs))
    return Publication(origin, draw(st.integers(1, 2**63 - 1)), spoken, row, fields_size(row), retracted)


def subscription_rows() -> st.SearchStrategy[dict[str, Any]]:
    """Subscriptions to the nearest points."""
    return st.fixed_dictionaries(
        {
            "id": st.text(max_size=20),
            "k": st.integers(1, 50),
            "score": st.just("euclidean"),
            "point": st.lists(coordinates, min_size=2, max_size=2),
            "window_us": st.integers(1, 2**40),
        }
    )


@st.composite
def staircases(draw: Any) -> tuple[tuple[int, float], ...]:
    """Steps with any gates but no number at all."""
    times = sorted(draw(st.lists(longs, min_size=1, max_size=6)))
    gates = st.floats(allow_nan=False, allow_infinity=True)
    return tuple((at, draw(gates)) for at in times)


def frames() -> st.SearchStrategy[Frame]:
    """One of any kind."""
    proxies = st.builds(
        Proxy,
        subscription_rows().map(lambda row: FAMILY.routing.subscription(row, FAMILY.settings)),
        brokers,
        counts,
        staircases(),
        st.one_of(st.none(), longs),
        columns,
        st.booleans(),
    )
    return st.one_of(
        st.builds(PublicationFrame, publications(), columns, st.integers(0, 100), st.one_of(st.none(), ids)),
        proxies,
        st.builds(Withdraw, ids, columns),
        st.builds(Recall, ids, counts),
        st.builds(Silence, longs, st.one_of(st.none(), longs, st.lists(st.tuples(ids, longs), max_size=3).map(tuple))),
        st.builds(Acknowledge, longs),
        st.builds(Want, longs, longs),
        st.builds(GivenUp, longs, counts),
        st.builds(Register, subscription_rows(), brokers, brokers),
        st.builds(Deregister, ids, brokers),
        st.builds(Forwarded, publications(), brokers),
        st.builds(Delivered, ids, publications()),
        st.builds(Hello, counts),
    )


@st.composite
def envelopes(draw: Any) -> Envelope:
    """A frame, or none, under way."""
    numbers = st.integers(0, 2**64 - 1)
    lives = st.integers(0, 2**32 - 1)
    acknowledged = (draw(numbers), draw(numbers), draw(numbers))
    frame = draw(st.one_of(st.none(), frames()))
    return Envelope(
        draw(brokers),
        draw(lives),
        draw(lives),
        draw(st.integers(0, 2)),
        draw(numbers),
        frame,
        acknowledged,
        draw(lives),
    )


def family_of(frame: Frame | None) -> FrameFamily:
    """What reads a frame: messages have words."""
    publication = getattr(frame, "publication", None)
    return MESSAGES if publication is not None and "terms" in publication.row else FAMILY


def plain(value: Any) -> Any:
    """A frame so that equal ones compare equal: subscriptions by their rows, and what is no number as a word."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return (type(value).__name__, *(plain(each) for each in value))
    if isinstance(value, tuple | list):
        return type(value).__name__, *(plain(each) for each in value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    return plain(value.row) if hasattr(value, "row") else value
