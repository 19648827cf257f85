"""No test of the command line leaves a process behind, also where it fails."""

from collections.abc import Iterator

import pytest

from tests.cli.calling import STARTED
from tests.pipeline.shared import spark, spark_for_commands

__all__ = ["spark", "spark_for_commands"]


@pytest.fixture(autouse=True)
def _processes_end() -> Iterator[None]:
    yield
    for run in STARTED:
        run.kill()
        run.wait()
    STARTED.clear()
