"""Running a server: its socket, its loop, and an end that leaves nobody without a word."""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self

import uvicorn

from skyband.server.access.doorway import LOOPBACK
from skyband.server.config import BadServerConfig, ServerConfig
from skyband.server.http.application import make_application
from skyband.server.http.connection import HttpConnection, WebSocketConnection
from skyband.server.http.entrance import Entrance
from skyband.server.service import Service

GRACE_SECONDS = 3
# Files that a server has open beside its connections.
SPARE_FILES = 500
Beside = Callable[[Service], Coroutine[Any, Any, None]]
"""Something that runs with a server on its loop, such as what publishes for a demonstration."""
# How soon a request to stop is seen.
LOOK_SECONDS = 0.05


class Listening(uvicorn.Server):
    """A server that leaves signals to whoever runs it, and says goodbye before it stops."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.service: Service | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End open streams, which would otherwise be waited for, and then the rest."""
        if self.service is not None:
            await self.service.say_goodbye()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            # What a reader does not take would be waited for without end.
            connection.transport.abort()


def serve(
    config: ServerConfig,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[str], None] = lambda address: None,
    restored: bool = False,
    beside: Beside | None = None,
) -> None:
    """Run a server until it is asked to stop; its address is told once it is ready, and `beside` runs with it."""
    place = bind(config)
    allow_connections(config.limits.connections)
    entrance = Entrance()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    # It would write whole addresses, with the tickets in them.
    logging.getLogger("uvicorn.access").disabled = True
    listening = Listening(_options(config, entrance))
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(listening, entrance, config, place, asked_to_stop, tell, restored, beside))
    finally:
        place.close()
        if listening.service is not None:
            listening.service.stop()


def _options(config: ServerConfig, entrance: Entrance) -> uvicorn.Config:
    return uvicorn.Config(
        entrance,
        http=HttpConnection,
        ws=WebSocketConnection,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=config.certificate,
        ssl_keyfile=config.private_key,
        ws_max_size=64 * 1024,
    )


def bind(config: ServerConfig) -> socket.socket:
    """The socket at the address, or `BadServerConfig` where there can be none."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0]
        place = socket.socket(family, kind)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(address)
        place.listen(2048)
    except OSError as error:
        raise BadServerConfig(f"The server cannot listen at {config.host}:{config.port}: {error.strerror}.") from None
    return place


def allow_connections(n: int) -> None:
    """Let this process have so many files open, or as many as the system allows it; a thousand is a common default."""
    try:
        import resource
    except ImportError:  # there is no such limit on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n + SPARE_FILES if hard == resource.RLIM_INFINITY else min(n + SPARE_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_exposure(config: ServerConfig, service: Service) -> None:
    """Refuse to answer to other machines as long as nobody is asked for a token."""
    if config.host not in LOOPBACK and not service.metadata.has_tokens:
        raise BadServerConfig(
            f"host {config.host} can be reached from other machines, and there is no token yet: make one first, "
            "with `skyband serve --new-admin NAME`, or listen at 127.0.0.1."
        )


def address_of(config: ServerConfig, place: socket.socket) -> str:
    """Where the server is found."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{'http' if config.certificate is None else 'https'}://{host}:{place.getsockname()[1]}"


async def _serve(
    server: Listening,
    entrance: Entrance,
    config: ServerConfig,
    place: socket.socket,
    asked_to_stop: Callable[[], bool],
    tell: Callable[[str], None],
    restored: bool,
    beside: Beside | None,
) -> None:
    running = asyncio.create_task(server.serve([place]))
    guest = None
    try:
        # Recovery may take long, and meanwhile it is told that it is under way.
        service = server.service = await asyncio.to_thread(Service, config, restored)
        check_exposure(config, service)
        service.start()
        entrance.open(make_application(service))
        while not server.started and not running.done():
            await asyncio.sleep(0.005)
        if server.started:
            tell(address_of(config, place))
        guest = asyncio.create_task(_beside(service, beside)) if beside is not None else None
        while not running.done():
            server.should_exit = server.should_exit or asked_to_stop()
            await asyncio.wait({running}, timeout=LOOK_SECONDS)
    finally:
        if guest is not None:
            guest.cancel()
        server.should_exit = True
        await running


async def _beside(service: Service, beside: Beside) -> None:
    """What runs beside a server does not end it."""
    try:
        await beside(service)
    except Exception:
        logging.getLogger("skyband.server").exception("What runs beside the server has ended.")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The fast loop, where there is one."""
    try:
        import uvloop
    except ImportError:  # it is not made for Windows
        return None
    return uvloop.new_event_loop


class Running:
    """A server in a thread of this process, as tests and examples want one.

    >>> import tempfile
    >>> from skyband.server import Running, make_server_config
    >>> folder = tempfile.mkdtemp()
    >>> with Running(make_server_config({"port": 0, "data": folder})) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, config: ServerConfig, restored: bool = False, beside: Beside | None = None) -> None:
        self.config = config
        self.restored = restored
        self.beside = beside
        self.address = ""
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="skyband-server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def _run(self) -> None:
        try:
            serve(self.config, self._stop.is_set, self._tell, self.restored, self.beside)
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    def _tell(self, address: str) -> None:
        self.address = address
        self._ready.set()
