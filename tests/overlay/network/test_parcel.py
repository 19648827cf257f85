"""Parcels come out of their bytes as they went in."""

import re

import numpy as np
import pytest

from skyband.overlay.network.paint_server import RankedObject, Sighting
from skyband.overlay.network.parcel import (
    HEAD,
    KINDS,
    Ask,
    Bequest,
    Bundle,
    ChangeReport,
    Close,
    Enter,
    Estate,
    FirstTop,
    Found,
    GiveUp,
    Leave,
    Parcel,
    Quit,
    Rehang,
    StandingList,
    WaitingList,
    pack,
    unpack,
)
from skyband.overlay.network.region import Region
from tests.overlay.network.test_paint_rows import drawn_rows

ROW = {"id": "ann", "k": 2, "lo": -np.inf, "hi": 1 / 3}
TOP = [RankedObject("tea", 0.1), RankedObject("cup", 1e-300)]
REGION = Region(np.array([[-np.inf, 0.25], [1.0, 2.0]]), np.array([[0.5, np.inf], [2.0, 3.0]]))
BUNDLE = Bundle(2**40, drawn_rows(3, 1, texts=True))
ESTATE = Estate(REGION, 7, [StandingList(3, ROW, 9, TOP)], [WaitingList(4, ROW, [BUNDLE])], {8: REGION}, [5])
PARCELS: list[Parcel] = [
    BUNDLE,
    ChangeReport(Sighting(5, "tea", (1 / 3,), None)),
    ChangeReport(Sighting(5, 7, (), 2.0)),
    Ask(1, ROW),
    GiveUp(1, ROW),
    Enter(1, ROW, 3),
    Quit(1),
    FirstTop(1, ROW, 12, TOP),
    Found(2, ESTATE),
    Leave(3),
    Close(),
    Bequest(2, ESTATE),
    Rehang(4),
]


def shown(parcel: Parcel) -> str:
    """A parcel as a text, which arrays do not compare as; floats are exact in it, and addresses say nothing."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(parcel))


@pytest.mark.parametrize("parcel", PARCELS, ids=lambda parcel: type(parcel).__name__)
def test_parcels_come_as_they_went(parcel: Parcel) -> None:
    data = pack(parcel)
    assert pack(unpack(data)) == data
    assert type(unpack(data)) is type(parcel)
    assert shown(unpack(data)) == shown(parcel)


def test_every_kind_is_tried() -> None:
    assert {type(parcel) for parcel in PARCELS} == set(KINDS)


def test_a_parcel_that_is_cut_off_is_refused() -> None:
    assert len(pack(Close())) == HEAD + len("[]")
    with pytest.raises(ValueError, match="has come with"):
        unpack(pack(Leave(3))[:-1])
