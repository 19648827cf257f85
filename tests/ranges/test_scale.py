"""Two million subscriptions in bounded memory; only in the long runs, as it takes minutes and gigabytes."""

import numpy as np
import pytest

import skyband
from skyband.ranges import workload as ranges

N_SUBSCRIPTIONS, N_OBJECTS, N_EVENTS, BATCH = 2_000_000, 10_000, 5_000, 500
N_LOOKED_AT = 200


@pytest.mark.soak
def test_two_million_subscriptions_take_what_their_rows_and_deliveries_take() -> None:
    options = ranges.Options(n_objects=N_OBJECTS, n_events=N_EVENTS, n_subscriptions=N_SUBSCRIPTIONS, k=10)
    engine = skyband.open("ranges", "paint")
    stream = ranges.stream(options, BATCH)
    for _ in range(N_OBJECTS // BATCH):
        engine.publish(next(stream))
    subscriptions = ranges.subscriptions(options)
    for at in range(0, N_SUBSCRIPTIONS, 200_000):
        engine.subscribe(subscriptions.slice(at, 200_000))
    before = engine.memory()
    latest: dict[int, tuple[float, float]] = {}
    for batch in ranges.stream(options, BATCH):
        latest |= {row["object"]: (row["x"], row["y"]) for row in batch.to_pylist()}
    for batch in stream:
        engine.publish(batch)
        # Nothing grows but the table of what was delivered and has left: 8 bytes each in a table that doubles.
        after = engine.memory()
        assert after["rows"] == before["rows"]
        assert after["objects"] == before["objects"]
        assert after["deliveries"] <= before["deliveries"] + 64 * engine.counters["leave"]
    x, y = np.array(list(latest.values())).T
    names = np.array(list(latest))
    for row in subscriptions.slice(0, N_LOOKED_AT).to_pylist():
        inside = np.flatnonzero((row["lo"] <= x) & (x <= row["hi"]))
        wanted = inside[np.lexsort((-names[inside], y[inside]))][:10]
        assert engine.top([row["id"]])["publication"].to_pylist() == names[wanted].tolist()
