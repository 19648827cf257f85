"""One Spark session for all tests of a process, started when the first of them asks for it.

The folders whose tests run on Spark name these fixtures in their conftest.py. They are not in the one of all tests: an
edit of that begins the whole soak anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.short import SHORT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]


@cache
def opened(scratch: Path) -> SparkSession:
    """The session: two slots, and a warehouse and scratch folder that go away with the tests."""
    from skyband.pipeline.session import open_session

    scratch.mkdir()
    options = SHORT | {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Functions of the tests are found by the workers as by pytest: from the root.
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }
    return open_session(master="local[2]", name="tests", options=options)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, which ends with the last test: every folder that names this fixture has it run."""
    session = opened(tmp_path_factory.getbasetemp() / "spark")
    yield session
    session.stop()


@pytest.fixture
def spark_for_commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session, on which commands run too that are called in this process, whatever session they ask for."""
    for module in ("run", "replay"):
        monkeypatch.setattr(f"skyband.pipeline.{module}.open_session", lambda **_: spark)
    return spark
