"""The first words on a connection between two brokers: who they are, and whether they may talk.

Each side says who it is and by which chart it works, and judges what the other one says. Whoever refuses says why, in a
sentence, before it hangs up, so that people at both ends can read it.
"""

import asyncio
import json
import struct
from typing import Any, NamedTuple

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.wire.header import PROTOCOL, BadFrame
from skyband.broker.wire.value import shown, whole

MAGIC = b"\xffSKYLNK\n"
LAYOUT = struct.Struct("<8sI")
MOST_BYTES = 4096
GREETING_SECONDS = 10.0


class LinkRefused(ValueError):
    """These two brokers do not talk, with the reason in one sentence."""


class Greeting(NamedTuple):
    """Who speaks, to whom, by which protocol and chart, in which life."""

    name: str
    target: str
    protocol: int
    chart: int
    digest: str
    incarnation: int
    journal: str

    def judged_by(self, me: str, chart: NetworkChart, expected: str | None) -> str:
        """Why a broker of this name and chart does not talk to who says this; empty if it does."""
        if self.protocol != PROTOCOL:
            return f"{self.name} speaks version {self.protocol} of the protocol, and {me} version {PROTOCOL}."
        if self.chart != chart.version:
            older, newer = sorted(((self.chart, self.name), (chart.version, me)))
            known = f"{newer[1]} has version {newer[0]} of the chart, and {older[1]} version {older[0]}"
            return f"{known}: give it the new one."
        if self.digest != chart.digest:
            return (
                f"{self.name} and {me} both have version {chart.version} of the chart, and not the same one: give all "
                "brokers the same file, and a new version whenever it changes."
            )
        if self.target != me:
            return f"{self.name} wants to talk to {self.target}, and this is {me}: look at the addresses in the chart."
        if expected is not None and self.name != expected:
            return f"At the address of {expected} is {self.name}: look at the addresses in the chart."
        if self.name == me or self.name not in chart.names:
            return f"{self.name} is no other broker of the chart: there are {', '.join(chart.names)}."
        return ""


def pack_greeting(said: dict[str, Any]) -> bytes:
    """Words as bytes."""
    body = json.dumps(said).encode()
    return LAYOUT.pack(MAGIC, len(body)) + body


async def read_words(reader: asyncio.StreamReader) -> dict[str, Any]:
    """What the other side says first; `BadFrame` if it is no broker."""
    magic, length = LAYOUT.unpack(await reader.readexactly(LAYOUT.size))
    if magic != MAGIC or length > MOST_BYTES:
        raise BadFrame("Somebody who is no broker has connected.")
    try:
        said = json.loads((await reader.readexactly(length)).decode())
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise BadFrame("Somebody who is no broker has connected.")
    return said


def read_greeting(said: dict[str, Any]) -> Greeting:
    """A greeting, or `LinkRefused` with what the other side says against this one."""
    if isinstance(said.get("refused"), str):
        raise LinkRefused(f"The other side refuses: {said['refused'][:500]}")
    texts = [said.get(name) for name in ("name", "target", "digest", "journal")]
    if not all(isinstance(text, str) and len(text) <= 128 for text in texts):
        raise BadFrame(f"A greeting was expected, not {shown(said)}.")
    numbers = [whole(said.get(name), 0) for name in ("protocol", "chart", "incarnation")]
    name, target, digest, journal = map(str, texts)
    return Greeting(name, target, numbers[0], numbers[1], digest, numbers[2], journal)


async def exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    mine: Greeting,
    chart: NetworkChart,
    expected: str | None,
) -> Greeting:
    """Greet and be greeted; `LinkRefused` says why there is no talk, and the other side has been told."""
    writer.write(pack_greeting(mine._asdict()))
    await writer.drain()
    theirs = read_greeting(await read_words(reader))
    reason = theirs.judged_by(mine.name, chart, expected)
    if reason:
        await refuse(writer, reason)
        raise LinkRefused(reason)
    return theirs


async def refuse(writer: asyncio.StreamWriter, reason: str) -> None:
    """Say why there is no talk."""
    writer.write(pack_greeting({"refused": reason}))
    await writer.drain()


async def await_agreement(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Agree, and hear that the other side agrees too: `LinkRefused` with its reason if it does not."""
    writer.write(pack_greeting({"agreed": True}))
    await writer.drain()
    said = await read_words(reader)
    if said.get("agreed") is not True:
        raise LinkRefused(f"The other side refuses: {str(said.get('refused'))[:500]}")
