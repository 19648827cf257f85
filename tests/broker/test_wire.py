"""Frames as bytes: every kind comes back as it was, and nothing else than a frame is taken for one."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.broker.wire.body import KINDS, pack_body, unpack_body
from skyband.broker.wire.envelope import ParcelStream, pack_envelope, unpack_envelope, unpack_parcel
from skyband.broker.wire.header import LAYOUT, MOST_BODY, BadFrame, pack_header, unpack_header
from skyband.overlay.broker import frame as core
from skyband.overlay.broker.frame import Acknowledge, Envelope, Frame, Hello, Silence
from tests.broker.frames import FAMILY, anything, envelopes, family_of, frames, plain

SILENCE = Envelope(1, 7, 8, 1, 99, Silence(5, 2), (1, 2, 3), 4711)


def test_there_is_a_kind_for_each_frame_of_the_core() -> None:
    assert {kind.frame for kind in KINDS} == set(core.Frame.__args__)
    assert len({kind.number for kind in KINDS}) == len(KINDS)


@given(envelopes(), st.integers(0, 2**32 - 1))
def test_envelopes_come_back_as_they_were(envelope: Envelope, target: int) -> None:
    parcel = unpack_parcel(pack_envelope(target, envelope).packed)
    assert parcel.header.target == target
    assert plain(unpack_envelope(parcel, family_of(envelope.frame))) == plain(envelope)


@given(st.lists(envelopes(), max_size=5), st.randoms(use_true_random=False))
def test_a_stream_may_be_cut_anywhere(several: list[Envelope], chance: random.Random) -> None:
    packed = b"".join(pack_envelope(2, envelope).packed for envelope in several)
    stream, found = ParcelStream(), []
    while packed:
        n = chance.randrange(1, 200)
        found += stream.feed(packed[:n])
        packed = packed[n:]
    assert [
        plain(unpack_envelope(each, family_of(envelope.frame))) for each, envelope in zip(found, several, strict=True)
    ] == [plain(envelope) for envelope in several]


@given(envelopes(), st.data())
def test_changed_and_cut_bytes_are_refused(envelope: Envelope, data: st.DataObject) -> None:
    packed = bytearray(pack_envelope(0, envelope).packed)
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadFrame):
        unpack_parcel(bytes(packed))
    with pytest.raises(BadFrame):
        unpack_parcel(bytes(packed[:at]))


@given(st.binary(max_size=300))
def test_noise_is_refused_or_waited_for(noise: bytes) -> None:
    try:
        found = ParcelStream().feed(noise)
    except BadFrame:
        return
    assert found == []
    assert len(noise) < LAYOUT.size or unpack_header(noise[: LAYOUT.size]).length > len(noise) - LAYOUT.size


@given(st.sampled_from([kind.number for kind in KINDS]), st.one_of(st.binary(max_size=100), anything))
def test_bodies_of_anything_are_refused_by_one_error(number: int, body: Any) -> None:
    packed = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        found = unpack_body(number, packed, FAMILY)
    except BadFrame:
        return
    assert isinstance(found, Acknowledge | Hello | core.Want | core.GivenUp | Silence | core.Withdraw | core.Recall)


@given(frames(), st.data())
def test_bodies_with_one_other_value_are_refused_or_frames(frame: Frame, data: st.DataObject) -> None:
    number, body = pack_body(frame)
    values = json.loads(body)
    values[data.draw(st.integers(0, len(values) - 1))] = data.draw(anything)
    try:
        found = unpack_body(number, json.dumps(values).encode(), family_of(frame))
    except BadFrame:
        return
    assert type(found) is type(frame)


@pytest.mark.parametrize(
    ("number", "body"),
    [
        (99, b"[]"),
        (0, b"[]"),
        (5, b"[true,0]"),
        (5, b'[1,"x"]'),
        (5, b"[" * 100_000),
        (5, b"[1" + b"0" * 5000 + b",0]"),
        (6, b"[9223372036854775808]"),
        (13, b"[-1]"),
        (1, b'[[0,1,{"id":"oslo/1","point":[1,2],"ts":1},null],"delivering",0,null]'),
        (1, b'[[9,1,{"id":"berlin/1","point":[1,2],"ts":1},null],"delivering",0,null]'),
        (1, b'[[0,1,{"id":"berlin/1","point":[1,2,3],"ts":1},null],"delivering",0,null]'),
        (2, b'[{"id":"a","k":1,"score":"euclidean","point":[0,0],"window_us":5},0,1,[[0,NaN]],null,"updating",true]'),
        (
            2,
            b'[{"id":"a","k":1,"score":"euclidean","point":[0,0],"window_us":5},0,1,[[2,1.0],[1,1.0]],null,"updating",true]',
        ),
        (2, b'[{"id":"a","k":1,"score":"euclidean","point":[0,0],"window_us":5},0,1,[],null,"updating",true]'),
    ],
)
def test_bodies_that_no_broker_sends(number: int, body: bytes) -> None:
    with pytest.raises(BadFrame):
        unpack_body(number, body, FAMILY)


def test_too_long_a_body_is_refused_before_it_is_read() -> None:
    packed = pack_envelope(0, SILENCE).packed[: LAYOUT.size]
    announced = packed[:4] + (MOST_BODY + 1).to_bytes(4, "little") + packed[8:]
    with pytest.raises(BadFrame, match="may have"):
        ParcelStream().feed(announced)
    assert ParcelStream(MOST_BODY + 1).feed(announced) == []


def test_another_version_of_the_protocol_is_named() -> None:
    packed = bytearray(pack_envelope(0, SILENCE).packed)
    packed[1] = 9
    with pytest.raises(BadFrame, match="version 9 of the protocol"):
        unpack_parcel(bytes(packed))


def test_numbers_that_no_header_holds_are_refused() -> None:
    header = pack_envelope(0, SILENCE).header
    with pytest.raises(BadFrame, match="cannot be written"):
        pack_header(header._replace(number=2**64), b"")
    with pytest.raises(BadFrame, match="There is no broker"):
        unpack_envelope(unpack_parcel(pack_envelope(0, SILENCE._replace(source=3)).packed), FAMILY)
