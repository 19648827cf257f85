"""A chain of brokers in processes of their own, with somebody who publishes at one end and subscribes at the other."""

import datetime
import importlib.util
import itertools
import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from skyband.broker import BrokerClient, BrokerProblem, ChangesTold, TopsTold

Transport = Literal["tcp", "tls"]
Mode = Literal["watermark", "eager"]
SECONDS = 600.0
TICK = "100ms"


class BrokerChain:
    """Brokers that are linked one with the next, and nobody with anybody else; to be used in a `with` statement."""

    def __init__(
        self, folder: Path, n_hops: int, mode: Mode, transport: Transport, horizon: int, observer: str
    ) -> None:
        self._names = [f"site{i}" for i in range(n_hops + 1)]
        self._observer = observer
        self._folder, self._mode, self._horizon = folder, mode, horizon
        self._transport = transport
        self._heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._open = ExitStack()
        self._clients: dict[str, BrokerClient] = {}

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            chart = self._write_chart()
            started = [opening.enter_context(ChainedBroker(chart, name)) for name in self._names]
            for broker in started:
                client = BrokerClient(f"127.0.0.1:{broker.port}", seconds=SECONDS)
                opening.callback(client.close)
                self._clients[broker.name] = client
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def n_bytes(self) -> int:
        """What all brokers have sent to each other."""
        found = [client.status() for client in self._clients.values()]
        return sum(int(link["bytes_out"]) for status in found for link in status["links"])

    def ask(self, rows: Sequence[dict[str, Any]]) -> None:
        """Subscribe at the far end, and follow the observer there."""
        self._clients[self._names[-1]].subscribe(rows)
        threading.Thread(target=self._follow, daemon=True).start()
        begun = self._heard.get()
        if isinstance(begun, BaseException):
            raise begun

    def carry(self, rows: Sequence[dict[str, Any]]) -> None:
        """Publish at the near end, and wait until the observer has heard of the last row at the far one."""
        self._clients[self._names[0]].publish(rows)
        while (heard := self._heard.get(timeout=SECONDS)) != rows[-1]["id"]:
            if isinstance(heard, BaseException):
                raise heard

    def top(self) -> list[tuple[Any, ...]]:
        """The tops at the far end."""
        return sorted(entry[:4] for entry in self._clients[self._names[-1]].top().rows)

    def _follow(self) -> None:
        try:
            for event in self._clients[self._names[-1]].follow([self._observer]):
                if isinstance(event, TopsTold):
                    self._heard.put(None)
                elif isinstance(event, ChangesTold):
                    for change in event.changes:
                        if change.op == "enter":
                            self._heard.put(change.publication)
        except (BrokerProblem, RuntimeError) as error:
            self._heard.put(error)

    def _write_chart(self) -> Path:
        ports = _free_ports(len(self._names))
        document: dict[str, Any] = {
            "version": 1,
            "brokers": {
                name: {"address": f"127.0.0.1:{port}", "clients": "127.0.0.1:0"}
                for name, port in zip(self._names, ports, strict=True)
            },
            "links": [list(pair) for pair in itertools.pairwise(self._names)],
            "ways": "links",
            "strategy": "subscription-flooding",
            "mode": self._mode,
            "dims": 2,
            "tick": TICK,
            "horizon": f"{self._horizon}s",
        }
        if self._transport == "tls":
            document["tls"] = write_certificates(self._folder, self._names)
        path = self._folder / "chart.yaml"
        # JSON is YAML.
        path.write_text(json.dumps(document))
        return path


class ChainedBroker:
    """A broker in a process of its own, which ends with the block."""

    def __init__(self, chart: Path, name: str) -> None:
        self.name, self._log = name, chart.with_name(f"{name}.log")
        command = [sys.executable, "-m", "skyband", "broker", "run", str(chart), "--name", name, "--json"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    @property
    def port(self) -> int:
        """Its port for clients, which is told when it is live."""
        assert self._process.stdout is not None
        told = "".join(itertools.takewhile(lambda line: line != "}\n", self._process.stdout))
        if not told:
            raise RuntimeError(f"The broker {self.name} did not start: {self._log.read_text()[-1000:]}")
        return int(json.loads(told + "}")["clients"])


def missing_for(transport: Transport) -> str:
    """Why links of this kind cannot be measured here; empty if they can."""
    if transport == "tls" and importlib.util.find_spec("cryptography") is None:
        return "Certificates are made with the package cryptography, which is not installed."
    return ""


def write_certificates(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Make an authority that signs a certificate for each name, good for a day; answers with what a chart says."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    signing, issuer = ec.generate_private_key(ec.SECP256R1()), _subject("authority")
    for name in ("authority", *names):
        is_authority = name == "authority"
        key = signing if is_authority else ec.generate_private_key(ec.SECP256R1())
        builder = x509.CertificateBuilder(issuer, _subject(name), key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        signed = builder.sign(signing, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        (folder / f"{name}.pem").write_bytes(signed)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / f"{name}.key").write_bytes(key.private_bytes(*form))
    files = {"authority": "authority.pem", "certificate": "{name}.pem", "key": "{name}.key"}
    return {each: str(folder / file) for each, file in files.items()}


def _subject(name: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in found]
