"""The pipeline as a stream: sources on one side, sinks on the other, one query between them."""

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from skyband.pipeline.config import Config, check_config
from skyband.pipeline.fit import find_zoning
from skyband.pipeline.runner import Runner
from skyband.pipeline.session import open_session
from skyband.pipeline.source.source import jars_of, read_source
from skyband.pipeline.stage import frames as stages
from skyband.pipeline.state.folder import Commit, State, StateError
from skyband.pipeline.state.spec import Shape, make_shape
from skyband.pipeline.submit import shipping

# Spark lets an idle worker go after a minute, and the engine in it with it.
STAY_AWAKE = 25.0

# What Spark says of a source whose process has not started within ten seconds, and how often it may say so.
TOO_SLOW, TRIES = "failed to connect back", 5

Listener = Callable[[Commit], None]


class PipelineFailed(RuntimeError):
    """The stream ended with an error; its sentence says which."""


class _Stopping(Exception):
    """The stream is about to end: a batch that has not begun is left to the next run."""


class Pipeline:
    """A pipeline that can be started and stopped; what it has done is in its state folder."""

    def __init__(self, config: Config, spark: SparkSession | None = None) -> None:
        check_config(config)
        self.config = config
        self.state = State(config.state)
        found = self._found()
        self.spark = spark or session_for(config)
        self.shape = found or self._begin()
        self.query: StreamingQuery | None = None
        self.failure: BaseException | None = None
        self._runner: Runner | None = None
        self._listeners: list[Listener] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._active = time.monotonic()

    def _found(self) -> Shape | None:
        """The shape of the state, if there is one and the stream can go on from it."""
        if not self.state.exists():
            self.state.check_new()
            return None
        shape = self.state.check(self.config)
        self.state.check_checkpoint()
        return shape

    def _begin(self) -> Shape:
        """The shape of a new state."""
        shape = make_shape(self.config, find_zoning(self.spark, self.config))
        self.state.begin(shape)
        return shape

    def listen(self, listener: Listener) -> None:
        """Be told of every batch once it is delivered, in the thread of the stream."""
        self._listeners.append(listener)

    def source(self) -> DataFrame:
        """The raw rows of both streams."""
        config = self.config
        read: list[DataFrame] = [
            read_source(self.spark, noun, endpoint, stream=True, max_rows=config.batch, packed=True)
            for noun, endpoint in (("subscriptions", config.subscriptions), ("publications", config.publications))
        ]
        return read[0].unionByName(read[1], allowMissingColumns=True)

    def start(self, until_idle: bool = False) -> StreamingQuery:
        """Start the query; with `until_idle` it ends by itself when all that is there has been read."""
        self._runner = Runner(self.spark, self.config, self.state, self.shape)
        writer = self.source().writeStream.foreachBatch(self._batch).queryName("skyband")
        writer = writer.option("checkpointLocation", str(self.state.checkpoint))
        if until_idle:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(self.config.trigger * 1000)} milliseconds")
        self.query = begun(writer.start)
        threading.Thread(target=self._stay_awake, name="skyband-awake", daemon=True).start()
        return self.query

    def _batch(self, raw: DataFrame, number: int) -> None:
        assert self._runner is not None
        with self._lock:
            if self._stopping.is_set():
                raise _Stopping
            try:
                commit = self._runner.run(raw, number + self.state.checkpoint_base())
            except BaseException as error:
                self.failure = error
                raise
            finally:
                self._active = time.monotonic()
        for listener in self._listeners:
            listener(commit)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of the query; whether it has ended. What ended it early is raised."""
        assert self.query is not None
        try:
            ended = self.query.awaitTermination() if seconds is None else _await(self.query, seconds)
        except StreamingQueryException as error:
            stopped = self._stopping.is_set() and self.failure is None
            self.close()
            if stopped:
                return True
            raise self._explained(error) from error
        if seconds is None or ended:
            self.close()
        return seconds is None or bool(ended)

    def _explained(self, error: StreamingQueryException) -> BaseException:
        """The error of ours that ended the stream, or the last line of Spark's that says something."""
        cause = self.failure
        if cause is not None and type(cause).__module__.startswith("skyband."):
            return cause
        if isinstance(cause, OSError):
            why = cause.strerror or cause
            return PipelineFailed(
                f"The state in {self.state.folder} cannot be written or read: {why}. Put that right and run again: "
                "nothing is lost."
            )
        # What a worker says of the state is told in the words of its error.
        told = re.search(rf"{StateError.__module__}\.{StateError.__name__}: (.+)", str(cause or error))
        return StateError(told[1]) if told else PipelineFailed(reason(cause or error))

    def stop(self) -> None:
        """End the query after the batch that is running."""
        self._stopping.set()
        # Whoever has the lock is in the middle of a batch. The next one finds that the stream is ending, and gives up.
        with self._lock:
            pass
        if self.query is not None:
            with suppress(StreamingQueryException):
                self.query.stop()
        self.close()

    def close(self) -> None:
        """Let go of the sinks; the session stays."""
        self._stopping.set()
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def _stay_awake(self) -> None:
        """Ask the workers for nothing now and then, so that the engines stay in memory while nothing happens."""
        frame = self.spark.range(1)
        while not self._stopping.wait(1.0):
            if time.monotonic() - self._active >= STAY_AWAKE and self._lock.acquire(blocking=False):
                try:
                    if self._runner is not None:
                        for who in self._runner.parts:
                            stages.ping(frame.coalesce(1), who).collect()
                    self._active = time.monotonic()
                except Exception:
                    # The session is going: the stream itself will say why.
                    return
                finally:
                    self._lock.release()


def begun(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """A query that has begun to read; where a source was slow to start, it is asked for again."""
    for left in reversed(range(TRIES)):
        query = start()
        while query.isActive and "Initializing" in query.status["message"]:
            time.sleep(0.05)
        if query.isActive or not left or TOO_SLOW not in str(query.exception()):
            return query
    raise AssertionError("The last try returns.")


def _await(query: StreamingQuery, seconds: float) -> bool:
    """Wait so long for the end of a query; its own method takes whole seconds only."""
    over = time.monotonic() + seconds
    while query.isActive and time.monotonic() < over:
        time.sleep(0.05)
    return bool(query.awaitTermination(1)) if not query.isActive else False


def session_for(config: Config) -> SparkSession:
    """The Spark session that a configuration asks for."""
    endpoints = (config.publications, config.subscriptions, *config.changes, *config.tops)
    options = shipping(config.master, config.spark) | dict(config.spark)
    return open_session(master=config.master, options=options, jars=jars_of(endpoints, config.spark))


def reason(error: BaseException) -> str:
    """One sentence for an error that came through Spark."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("at ", "File ", "Traceback", "^", "..."))]
    ours = [line for line in told if "Error: " in line or line.startswith("skyband.")]
    chosen = (ours or told or [type(error).__name__])[-1 if ours else 0]
    return chosen.split("Error: ", 1)[-1] if ours else chosen
