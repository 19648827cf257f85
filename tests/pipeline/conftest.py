"""One Spark session and one Kafka broker for all tests of a process, started when the first of them asks for it."""

from collections.abc import Iterator

import pytest

from tests.pipeline.kafka_server import Broker, running_broker
from tests.pipeline.shared import spark

__all__ = ["broker", "spark"]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker; each test has topics of its own."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running
