"""WebSockets: a listener whose events are messages, each the same envelope as a server-sent event."""

import asyncio

from skyband.server.push.listener import Listener
from skyband.server.push.server_sent import Receive, Send, write_until_gone

GOING_AWAY, NORMAL = 1001, 1000


async def send_messages(listener: Listener, receive: Receive, send: Send, stall: float) -> None:
    """Send messages until there are no more, the reader has gone, or it takes nothing for so many seconds."""
    await write_until_gone(_write(listener, send, stall), _until_gone(receive))


async def _write(listener: Listener, send: Send, stall: float) -> None:
    while events := await listener.next():
        for event in events:
            async with asyncio.timeout(stall):
                await send({"type": "websocket.send", "text": event.message()})
    await send({"type": "websocket.close", "code": NORMAL})


async def _until_gone(receive: Receive) -> None:
    """What a reader sends is passed over: what it wants is in the address."""
    while (await receive())["type"] != "websocket.disconnect":
        pass
