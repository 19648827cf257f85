"""Whatever is killed, whenever: nothing is lost and nothing is told twice."""

import random
from pathlib import Path

import pytest

from tests.pipeline.crash import Kill, kills_of, outcome, stream, survive, truth, write_stream

pytestmark = pytest.mark.spark


def test_killed_three_times(tmp_path: Path) -> None:
    seed = 11
    rng = random.Random(seed)
    batches = stream(seed, 10)
    write_stream(tmp_path, batches)
    kills = [Kill(kind, 2, rng.uniform(0, 0.5)) for kind in ("worker", "driver", "worker")]
    done = survive(tmp_path, kills, seed)
    assert [kind for kind in done if kind != "start"] == ["worker", "driver", "worker"], f"seed {seed}: {done}"
    assert done.count("start") >= 2
    assert outcome(tmp_path) == truth(tmp_path, batches), f"seed {seed}: {done}"


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_over_and_over(tmp_path: Path, seed: int) -> None:
    batches = stream(seed, 150)
    write_stream(tmp_path, batches)
    done = survive(tmp_path, list(kills_of(seed, 25)), seed)
    kills = [kind for kind in done if kind != "start"]
    assert len(kills) >= 20, f"seed {seed}: {done}"
    assert {"worker", "driver", "tree"} <= set(kills), f"seed {seed}: {done}"
    assert outcome(tmp_path) == truth(tmp_path, batches), f"seed {seed}: {done}"
