"""The city on a server: its subscribers are registered, and its messages are published as the clock goes.

The day of the demo is played over and over, at the time of the clock and as many messages per second as are asked for.
Beside it there is a small stream for each of the other families.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator
from typing import Any

from skyband.demo.city import HEIGHT, WIDTH
from skyband.demo.scene import Scene, make_scene
from skyband.demo.small_stream import SmallStream, small_streams
from skyband.demo.subscriber import ROLES
from skyband.server.access.token import Caller
from skyband.server.service import Service
from skyband.server.store.rows import rows_body
from skyband.server.stream.spec import StreamSpec

STREAM = "city"
WINDOW = "10m"
PEOPLE, MESSAGES = 400, 30_000
BATCHES_PER_SECOND = 5
TOP_UP_SECONDS = 30
COLUMNS = ("x", "y", "terms", "weights", "text")


def hosted_stream() -> StreamSpec:
    """The stream that the messages of the city are published to."""
    return StreamSpec("geotext", window=WINDOW, bounds=[0.0, 0.0, WIDTH, HEIGHT], clock="wall")


async def keep_publishing(service: Service, per_second: int = 20, seed: int = 7) -> None:
    """Open the streams that are not there, let people subscribe, and publish until this is cancelled."""
    scene = await asyncio.to_thread(make_scene, seed, PEOPLE, MESSAGES)
    city = SmallStream(STREAM, hosted_stream(), people(scene), messages(scene), per_second)
    async with asyncio.TaskGroup() as tasks:
        # One after the other, the city first: an engine of a family may have to be compiled.
        for stream in (city, *small_streams(seed)):
            await _open(service, stream)
            tasks.create_task(_publish(service, stream))
            if any("budget" in row for row in stream.subscriptions):
                tasks.create_task(_top_up(service, stream))


async def _open(service: Service, stream: SmallStream) -> None:
    caller = Caller()
    if stream.name not in [its.name for its in service.streams.of(caller.tenant)]:
        await service.open_stream(caller, stream.name, await asyncio.to_thread(StreamSpec.of, stream.spec.plain()))
    if not len(service.streams.get(caller.tenant, stream.name).registry):
        await service.verb(caller, "subscribe", stream.name, body=rows_body(stream.subscriptions))


async def _publish(service: Service, stream: SmallStream) -> None:
    share = max(1, round(stream.per_second / BATCHES_PER_SECOND))
    due = time.monotonic()
    while True:
        rows = stamped(list(itertools.islice(stream.publications, share)), time.time_ns() // 1000)
        await service.verb(Caller(), "publish", stream.name, body=rows_body(rows))
        due = max(due + share / stream.per_second, time.monotonic() - 1.0)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _top_up(service: Service, stream: SmallStream) -> None:
    """Give those that have spent their budget a new one after a while, so that there is always something to see."""
    engine: Any = service.streams.get(Caller().tenant, stream.name).engine
    while True:
        await asyncio.sleep(TOP_UP_SECONDS)
        left = await service.worker.ask(lambda _: engine.budgets().to_pylist())
        spent = {row["id"] for row in left if row["budget"] == 0}
        for row in stream.subscriptions:
            if row["id"] in spent:
                await service.verb(Caller(), "put", stream.name, body=rows_body([row | {"budget": row["budget"] + 1}]))
                row["budget"] += 1


def people(scene: Scene) -> list[dict[str, Any]]:
    """The subscribers, of whom those that are shown have names that say what they like."""
    rows: list[dict[str, Any]] = scene.subscriptions.drop_columns(["window_us"]).to_pylist()
    names = [role.what.removeprefix("a ").replace(" ", "-") for role in ROLES]
    for number, row in enumerate(rows):
        row["id"] = names[number] if number < len(names) else f"reader-{number}"
    return rows


def messages(scene: Scene) -> Iterator[dict[str, Any]]:
    """The messages of the day, from one hour of it on, without end."""
    rows = scene.publications.select(COLUMNS).to_pylist()
    start = int(time.time()) % len(rows)
    return itertools.islice(itertools.cycle(rows), start, None)


def stamped(rows: list[dict[str, Any]], now: int) -> list[dict[str, Any]]:
    """Rows with the time at which they are published, in microseconds, and ids that nothing had before."""
    first = now - len(rows)
    return [{"id": first + i, "ts": first + i} | row for i, row in enumerate(rows)]
