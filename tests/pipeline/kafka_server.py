"""A real Kafka broker for tests: one process on a free port of this machine, its jars fetched by Maven."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from skyband.pipeline.kafka import add_kafka, fetch_jars
from skyband.pipeline.sink.kafka_topic import KafkaTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION = "3.9.2"
PACKAGES = (f"org.apache.kafka:kafka_2.13:{VERSION}", f"org.apache.kafka:kafka-tools:{VERSION}")
LONGEST_START_SECONDS = 120

SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker(NamedTuple):
    """A running broker: where it listens, and what its own tools are started with."""

    servers: str
    classpath: str

    def tool(self, name: str, *arguments: str) -> str:
        """Run one of Kafka's administration tools and return what it printed."""
        command = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", self.classpath, name, *arguments]
        command += ["--bootstrap-server", self.servers]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_START_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def create(self, spark: SparkSession, topic: str, n_partitions: int) -> None:
        """Create a topic, through the clients in the Java process of a session: a tool would start one of its own."""
        add_kafka(spark)
        known = KafkaTopic(spark, self.servers, topic, {})
        known.load_clients()
        with known._admin() as admin:
            some = admin.jvm.java.util.Optional
            made = admin.jvm.org.apache.kafka.clients.admin.NewTopic(topic, some.of(n_partitions), some.empty())
            admin.client.createTopics(admin.jvm.java.util.Collections.singleton(made)).all().get()


def require_kafka() -> None:
    """Skip the test where no broker can be started, or fail it if SKYBAND_REQUIRE_KAFKA is 1."""
    missing = [command for command in ("mvn", "java") if shutil.which(command) is None]
    if missing:
        reason = f"A Kafka broker cannot be started here: {' and '.join(missing)} not installed."
        (pytest.fail if os.environ.get("SKYBAND_REQUIRE_KAFKA") == "1" else pytest.skip)(reason)


@contextlib.contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """A broker that keeps its data in this folder; it is ended with the block."""
    require_kafka()
    classpath = os.pathsep.join(map(str, fetch_jars(f"kafka-broker-{VERSION}", *PACKAGES)))
    settings = folder / "server.properties"
    port, controller = _free_ports()
    settings.write_text(SETTINGS.format(port=port, controller=controller, data=folder / "data"), encoding="utf-8")
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # A cluster id that begins with a dash would be read as an option.
    formatted = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "--config", str(settings)]
    subprocess.run(formatted, check=True, capture_output=True, timeout=LONGEST_START_SECONDS)
    with (folder / "broker.txt").open("wb") as told:
        process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=told, stderr=subprocess.STDOUT)
    try:
        broker = Broker(f"127.0.0.1:{port}", classpath)
        _wait(broker, process, folder / "broker.txt")
        yield broker
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait(broker: Broker, process: subprocess.Popen[bytes], told: Path) -> None:
    """Wait until the broker takes connections; it does so once it has joined its own cluster."""
    host, _, port = broker.servers.partition(":")
    deadline = time.monotonic() + LONGEST_START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"The Kafka broker did not start: {told.read_text(errors='replace')[-2000:]}")
