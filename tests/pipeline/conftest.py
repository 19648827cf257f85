"""One Spark session for all tests of a process, started when the first of them asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.short import SHORT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session: two slots, and a warehouse and scratch folder that go away with the tests."""
    from skyband.pipeline.session import open_session

    scratch = tmp_path_factory.mktemp("spark")
    options = SHORT | {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Functions of the tests are found by the workers as by pytest: from the root.
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }
    session = open_session(master="local[2]", name="tests", options=options)
    yield session
    session.stop()
