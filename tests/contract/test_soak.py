"""Long runs: the state machines with many examples, and a stream that never ends in memory that stays the same."""

import gc
import os
import time

import psutil
import pytest

import skyband
from skyband.geotext import workload as geotext
from skyband.testing import Case, check_against_oracle, check_determinism, check_splits, contract_cases
from skyband.window import workload as window

MINUTES = float(os.environ.get("SKYBAND_SOAK_MINUTES", "2"))


@pytest.mark.soak
@pytest.mark.parametrize("case", contract_cases(rare=True), ids=str)
def test_many_sequences_equal_the_oracle(case: Case) -> None:
    check_against_oracle(case)


@pytest.mark.soak
@pytest.mark.parametrize("case", contract_cases(), ids=str)
def test_many_streams_are_split_and_run_twice(case: Case) -> None:
    check_splits(case)
    check_determinism(case)


@pytest.mark.soak
@pytest.mark.parametrize(("family", "name"), [("window", "blocks"), ("geotext", "blocks"), ("geotext", "skype")])
def test_memory_stays_the_same(family: str, name: str) -> None:
    """Publications for SKYBAND_SOAK_MINUTES with ever new words, and subscriptions that come and go."""
    process, ends = psutil.Process(), time.monotonic() + 60 * MINUTES
    engine = skyband.open(family, name, window=skyband.Window.count(2000), granularity="publication")
    sizes: list[int] = []
    turn = 0
    while time.monotonic() < ends:
        if family == "window":
            made = window.generate(window.Options(n_subscriptions=200, n_publications=5000, window_n=2000, seed=turn))
        else:
            made = geotext.generate(
                geotext.Options(n_subscriptions=200, n_publications=5000, window_n=2000, vocabulary=5000, seed=turn)
            )
        start = 0 if engine.now is None else engine.now
        said, asked = made.publications.to_pydict(), made.subscriptions.to_pydict()
        said["id"] = [f"{turn}.{i}" for i in range(5000)]
        if family == "geotext":
            for rows in (said, asked):
                rows["terms"] = [[f"{word}.{turn // 4}" for word in terms] for terms in rows["terms"]]
        said["ts"] = [start + 1 + ts - said["ts"][0] for ts in said["ts"]]
        engine.subscribe(asked)
        engine.publish(said)
        engine.check()
        engine.unsubscribe(asked["id"])
        gc.collect()
        sizes.append(process.memory_info().rss)
        turn += 1
    assert turn > 10, "This machine is too slow to tell anything."
    assert max(sizes[turn // 2 :]) < 1.15 * max(sizes[5 : turn // 2])
