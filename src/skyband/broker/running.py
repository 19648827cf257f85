"""A broker in a thread of this process, as tests and examples want one."""

import threading
from types import TracebackType
from typing import Self

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.driver.driver import Driver, MakeLinks
from skyband.broker.run import Ports, run_broker


class RunningBroker:
    """A broker of a chart by its name, which runs as long as the `with` statement.

    >>> import tempfile
    >>> from skyband.broker import BrokerClient, RunningBroker, make_chart
    >>> place = {"address": "127.0.0.1:0", "clients": "127.0.0.1:0"}
    >>> document = {"version": 1, "strategy": "covering", "dims": 2, "brokers": {"berlin": place}}
    >>> with RunningBroker(make_chart(document, tempfile.mkdtemp()), "berlin") as broker:
    ...     with BrokerClient(broker.address) as client:
    ...         client.status()["broker"]
    'berlin'
    """

    def __init__(self, chart: NetworkChart, name: str, make_links: MakeLinks | None = None) -> None:
        self.chart, self.name, self.make_links = chart, name, make_links
        self.ports = Ports(None, None)
        self.driver: Driver
        self.is_durable = False
        self._stop, self._ready = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"skyband-broker-{name}", daemon=True)

    @property
    def address(self) -> str:
        """Where its clients go."""
        return f"127.0.0.1:{self.ports.clients}"

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
            self.is_durable = run_broker(self.chart, self.name, self._stop.is_set, self._tell, self.make_links)
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    def _tell(self, ports: Ports, driver: Driver) -> None:
        self.ports, self.driver = ports, driver
        self._ready.set()
