"""A Kafka topic as its broker knows it: made if it is not there, and how far each of its partitions goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A broker that cannot be reached is told of after this long.
PATIENCE_MS = 15_000
_SECRET = ("password", "jaas", "secret", "key", "token")

Offsets = dict[int, int]


class KafkaTopic:
    """A topic, asked about through the clients that Spark's connector brings along."""

    def __init__(self, spark: SparkSession, servers: str, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.settings = {"bootstrap.servers": servers, **options}
        self._spark = spark

    def load_clients(self) -> None:
        """Let this thread find Kafka's clients, which may have been added to the session while it ran."""
        loader = self._spark._jsparkSession.sharedState().jarClassLoader()
        jvm: Any = self._spark.sparkContext._jvm
        jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)

    def make(self, compacted: bool) -> None:
        """Make the topic, with the broker's own number of partitions and copies, if it is not there."""
        with self._admin() as admin:
            if admin.client.listTopics().names().get().contains(self.name):
                return
            by_default = admin.jvm.java.util.Optional.empty()
            topic = admin.jvm.org.apache.kafka.clients.admin.NewTopic(self.name, by_default, by_default)
            if compacted:
                topic.configs(admin.mapping({"cleanup.policy": "compact"}))
            admin.client.createTopics(admin.jvm.java.util.Collections.singleton(topic)).all().get()

    def ends(self) -> Offsets:
        """The offset that the next message of each partition will have."""
        with self._admin() as admin:
            return admin.offsets(self.name, "latest")

    def begins(self) -> Offsets:
        """The offset of the oldest message that each partition still holds."""
        with self._admin() as admin:
            return admin.offsets(self.name, "earliest")

    def told(self, error: Exception) -> str:
        """What went wrong, in one line, without what the options keep secret."""
        java = getattr(error, "java_exception", None)
        while java is not None and java.getCause() is not None:
            java = java.getCause()
        text = str(error) if java is None else str(java.getMessage() or java.getClass().getName())
        told = _without_task(" ".join((text.strip().splitlines() or ["no reason is given"])[0].split()).rstrip("."))
        hidden = [value for name, value in self.settings.items() if any(word in name for word in _SECRET)]
        if any(value and value in told for value in hidden):
            return "the reason is not shown here, since it holds what the options keep secret"
        return told

    def _admin(self) -> _Admin:
        limits = {"default.api.timeout.ms": str(PATIENCE_MS), "request.timeout.ms": str(PATIENCE_MS // 2)}
        return _Admin(self._spark, {**limits, **self.settings})


def _without_task(told: str) -> str:
    """What a task of Spark failed of, without which task it was and where."""
    failure = re.search(r"most recent failure: .*? executor [^)]*\): (?:[\w.$]+: )?(.*)$", told)
    if failure is None:
        return told
    # The driver does not know every class of errors that came with jars that were added late.
    return "a task that writes to it failed" if failure[1] in ("", "UnknownReason") else failure[1]


class _Admin:
    """Kafka's administration client in the JVM of the driver, open for a block."""

    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        self.jvm: Any = spark.sparkContext._jvm
        self._settings = settings
        self.client: Any = None

    def __enter__(self) -> _Admin:
        properties = self.jvm.java.util.Properties()
        for name, value in self._settings.items():
            properties.setProperty(name, value)
        self.client = self.jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def mapping(self, entries: Mapping[str, str]) -> Any:
        """A mapping as the JVM has it."""
        found = self.jvm.java.util.HashMap()
        for name, value in entries.items():
            found.put(name, value)
        return found

    def offsets(self, topic: str, which: str) -> Offsets:
        """The latest or earliest offset of each partition of a topic."""
        described = self.client.describeTopics(self.jvm.java.util.Collections.singleton(topic))
        partitions = described.allTopicNames().get().get(topic).partitions()
        asked = self.jvm.java.util.HashMap()
        for partition in partitions:
            place = self.jvm.org.apache.kafka.common.TopicPartition(topic, partition.partition())
            asked.put(place, getattr(self.jvm.org.apache.kafka.clients.admin.OffsetSpec, which)())
        found = self.client.listOffsets(asked).all().get()
        return {place.partition(): found.get(place).offset() for place in asked.keySet()}
