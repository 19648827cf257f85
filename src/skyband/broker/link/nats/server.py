"""One connection with a server of NATS: how it is opened, what it has to permit, and what it must not permit."""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from skyband.broker.chart.field import BadChart
from skyband.broker.chart.nats_system import NatsSystem, NatsTls

try:
    import nats.errors
    import nkeys
    from nats.aio.client import Client
    from nats.aio.msg import Msg
except ImportError:  # pragma: no cover - all extras are there where tests run
    raise BadChart(
        "The transport nats needs the package nats: install it with `pip install 'skyband[broker,nats]'`."
    ) from None

CONNECT_SECONDS = 5.0
CLOSE_SECONDS = 1.0
FLUSH_SECONDS = 10
CREDENTIAL_MARKS = ("BEGIN NATS USER JWT", "BEGIN USER NKEY SEED")
REFUSING = re.compile(r"authorization|revoked|expired", re.IGNORECASE)
DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"')

Handle = Callable[[str, bytes], Awaitable[None]]


class NatsRefused(ValueError):
    """A server of NATS is not set up so that this broker can use it, with the reason in one sentence."""


class NatsServer:
    """A connection, from `open` until it is no more, which `ended` may be told of, or `is_open` shows."""

    def __init__(self, system: NatsSystem, name: str, buffer: int, stall: float) -> None:
        self._system, self._name = system, name
        self._buffer, self._stall = buffer, stall
        self._client = _Client(system.tls is not None)
        self._denied: set[tuple[str, str]] = set()
        self._last = ""
        self._is_closing = False
        self.ended: Callable[[], None] = lambda: None
        self.lost: Callable[[str], None] = lambda subject: None
        self.denied: Callable[[str], None] = lambda subject: None

    async def open(self) -> None:
        """Connect; `OSError` where no server answers or lets this broker in, `NatsRefused` where one has no TLS."""
        options = connect_options(self._system)
        try:
            await self._connect(options)
        except BaseException:
            self._is_closing = True
            await self._client.hang_up()
            raise

    async def _connect(self, options: dict[str, Any]) -> None:
        try:
            await self._client.connect(
                list(self._system.servers),
                name=f"skyband-{self._name}",
                error_cb=self._trouble,
                closed_cb=self._closed,
                # A server that is lost is connected with anew from the beginning, so that all of it is checked again.
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=CONNECT_SECONDS,  # type: ignore[arg-type]  # any number of seconds will do
                ping_interval=max(self._stall / 3, 0.1),  # type: ignore[arg-type]  # any number here too
                pending_size=self._buffer,
                no_echo=True,
                **options,
            )
        except nats.errors.NoServersError:
            raise ConnectionError(f"No server of NATS can be reached: {self._last or 'none answers'}.") from None
        except OSError as error:
            raise ConnectionError(f"There is no connection with NATS: {_told(error)}.") from None
        except nats.errors.Error as error:
            refusal = f"NATS does not let {self._name} in" if REFUSING.search(str(error)) else "NATS cannot be used"
            raise ConnectionError(f"{refusal}: {_told(error)}.") from None

    async def close(self) -> None:
        """Hang up, having sent what was published."""
        self._is_closing = True
        await self._client.hang_up()

    @property
    def is_open(self) -> bool:
        """Whether anything can be published."""
        return self._client.is_connected

    @property
    def last_trouble(self) -> str:
        """What was wrong last, as the end of a sentence."""
        return self._last or _told(self._client.last_error) or "it has hung up"

    @property
    def max_payload(self) -> int:
        """The longest message that the server takes."""
        return self._client.max_payload

    async def publish(self, subject: str, message: bytes) -> None:
        """Send a message, as soon as the server takes it; `OSError` where it is lost."""
        with _lost_connections():
            await self._client.publish(subject, message)

    async def listen(self, subjects: Sequence[str], handle: Handle) -> None:
        """Hand over what comes on subjects, of each one at a time; `NatsRefused` where that is not permitted."""

        async def handle_message(message: Msg) -> None:
            await handle(message.subject, message.data)

        with _lost_connections():
            for subject in subjects:
                await self._client.subscribe(subject, cb=handle_message, pending_bytes_limit=2 * self._buffer)
            await self._flush()
        for subject in subjects:
            if ("subscription", subject.lower()) in self._denied:
                raise NatsRefused(f"NATS does not let {self._name} subscribe to {subject}: permit its user to do so.")

    async def check_identity(self, subject: str) -> None:
        """Raise `NatsRefused` if this broker may publish or listen on a subject that is for another one alone."""
        with _lost_connections():
            await self._client.publish(subject, b"")
            probe = await self._client.subscribe(subject)
            await self._flush()
            await probe.unsubscribe()
        for done, wrong in (("publish", "publish to"), ("subscription", "subscribe to")):
            if (done, subject.lower()) not in self._denied:
                raise NatsRefused(
                    f"NATS lets {self._name} {wrong} {subject}, which is for another broker: permit each user the "
                    "subjects of its own broker, or say `permissions: off` in the chart."
                )

    async def _flush(self) -> None:
        # What a server has against a message or a subscription comes before its answer to this. The client sends a ping
        # ahead of what waits to be sent, so that only a second one comes after it.
        await self._client.flush(FLUSH_SECONDS)
        await self._client.flush(FLUSH_SECONDS)

    async def _trouble(self, error: Exception) -> None:
        found = DENIED.search(str(error))
        if isinstance(error, nats.errors.SlowConsumerError):
            self.lost(error.subject)
        elif found is not None:
            self._denied.add((found[1], found[2]))
            self.denied(found[2])
        elif not isinstance(error, nats.errors.UnexpectedEOF):
            self._last = _told(error)

    async def _closed(self) -> None:
        if not self._is_closing:
            self.ended()


class _Client(Client):
    """A client that says nothing in the clear to a server with which it is to have TLS, and can be closed."""

    def __init__(self, needs_tls: bool) -> None:
        super().__init__()
        self._needs_tls = needs_tls

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # The client would go on without TLS, and show who it is.
        if initial_connection and self._needs_tls and not info.get("tls_required"):
            raise NatsRefused("The server of NATS has no TLS, which the chart demands.")
        await super()._process_info(info, initial_connection)

    async def hang_up(self) -> None:
        """Close it, whatever state it is in."""
        # What has failed half way cannot always be closed in order, and with TLS the client may wait for ever.
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.close(), CLOSE_SECONDS)
        if self._reading_task is not None:
            self._reading_task.cancel()
        if self._transport is not None:
            self._transport.close()  # type: ignore[no-untyped-call]  # nats-py has no types here


def connect_options(system: NatsSystem) -> dict[str, Any]:
    """What a broker shows to a server; `BadChart` for a file that cannot be used."""
    options: dict[str, Any] = {}
    for key, option in (("credentials", "user_credentials"), ("nkey", "nkeys_seed")):
        file = getattr(system, key)
        if file is not None:
            _check_file(key, file)
            options[option] = str(file)
    if system.tls is not None:
        options |= {"tls": _context(system.tls), "tls_handshake_first": system.tls.first}
    return options


def _check_file(key: str, file: Path) -> None:
    try:
        text = file.read_text(encoding="ascii")
        if key == "nkey":
            nkeys.from_seed(bytearray(text.strip().encode())).wipe()
    except (OSError, ValueError, nkeys.NkeysError):
        raise BadChart(f"transport.nats.{key}: {file} cannot be read, or holds something else.") from None
    # The client would look for the end of what is not there.
    if key == "credentials" and not all(mark in text for mark in CREDENTIAL_MARKS):
        raise BadChart(f"transport.nats.credentials: {file} has not both a JWT and the seed of an nkey.")


def _context(files: NatsTls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=files.authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if files.certificate is not None:
            context.load_cert_chain(files.certificate, files.key)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(str(file) for file in (files.authority, files.certificate, files.key) if file is not None)
        raise BadChart(f"The files of transport.nats.tls ({named}) cannot be used: {error}.") from None
    return context


@contextlib.contextmanager
def _lost_connections() -> Iterator[None]:
    try:
        yield
    except nats.errors.Error as error:
        raise ConnectionError(f"The connection with NATS was lost: {_told(error)}.") from None


def _told(error: BaseException | None) -> str:
    """What a client or a server says, as the end of a sentence."""
    if error is None:
        return ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    return str(error).removeprefix("nats: ").strip(" .'\"") or type(error).__name__
