"""Running a broker: its journal, its driver and its ports, and an end that leaves everything durable."""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.driver.driver import Driver, MakeLinks
from skyband.broker.journal.journal import BrokerJournal
from skyband.broker.link.transport import links_of
from skyband.broker.operations.operations_port import OperationsPort
from skyband.broker.port.client_port import ClientPort

LOOK_SECONDS = 0.05

logger = logging.getLogger("skyband.broker")


class Ports(NamedTuple):
    """The ports of a running broker; None where the chart gives none."""

    clients: int | None
    operations: int | None


Tell = Callable[[Ports, Driver], None]


def run_broker(
    chart: NetworkChart,
    name: str,
    asked_to_stop: Callable[[], bool],
    tell: Tell = lambda ports, driver: None,
    make_links: MakeLinks | None = None,
) -> bool:
    """Run a broker until it is asked to stop; its ports are told once it is live. False if not all is durable."""
    # What is wrong with files is found before anything begins.
    journal = BrokerJournal(chart.files_of(name).data)
    try:
        return asyncio.run(_run(chart, name, journal, asked_to_stop, tell, make_links))
    finally:
        journal.close()


async def _run(
    chart: NetworkChart,
    name: str,
    journal: BrokerJournal,
    asked_to_stop: Callable[[], bool],
    tell: Tell,
    make_links: MakeLinks | None,
) -> bool:
    place = chart.place(name)
    make = make_links or links_of(chart, name)
    clients = ClientPort(chart, name) if place.clients is not None else None
    operations = OperationsPort(place.operations, name) if place.operations is not None else None
    driver = Driver(chart, name, journal, make)
    try:
        await driver.start()
        for port in (clients, operations):
            if port is not None:
                port.start(driver)
        logger.info("%s: runs in its life %d, with version %d of the chart.", name, driver.incarnation, chart.version)
        tell(Ports(None if clients is None else clients.port, None if operations is None else operations.port), driver)
        while not asked_to_stop() and not driver.failed.done():
            await asyncio.sleep(LOOK_SECONDS)
        if driver.failed.done():
            driver.failed.result()
    finally:
        for port in (clients, operations):
            if port is not None:
                await port.stop()
        is_durable = await driver.stop()
        logger.info("%s: has stopped.", name)
    return is_durable
