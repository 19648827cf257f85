"""A place between a client and a server that breaks connections off when it is asked to."""

import contextlib
import socket
import threading
from typing import Self


class Relay:
    """Carries what is sent to a server and back; leaving it ends all that is open."""

    def __init__(self, address: str) -> None:
        self._to = int(address.rpartition(":")[2])
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._place = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._place.getsockname()[1]}"
        self.n_connections = 0
        self._start(self._run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_of(self._place)
        self._place.close()
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """Break all connections off."""
        for place in list(self._open):
            end_of(place)

    def _start(self, run: object, *given: object) -> None:
        thread = threading.Thread(target=run, args=given, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        while True:
            try:
                here, _ = self._place.accept()
            except OSError:
                return
            self.n_connections += 1
            there = socket.create_connection(("127.0.0.1", self._to))
            self._open += [here, there]
            self._start(self._carry_both, here, there)

    def _carry_both(self, here: socket.socket, there: socket.socket) -> None:
        back = threading.Thread(target=carry, args=(there, here), daemon=True)
        back.start()
        carry(here, there)
        back.join()
        for place in (here, there):
            self._open.remove(place)
            place.close()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Carry everything one way, until either side ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    end_of(source)
    end_of(target)


def end_of(place: socket.socket) -> None:
    """End a connection, if it has not ended yet."""
    with contextlib.suppress(OSError):
        place.shutdown(socket.SHUT_RDWR)
