"""What a subscription takes, in bytes that are the same on every machine."""

import pytest

import skyband
from skyband.window import workload

N, LIVE, K = 4000, 2000, 9


@pytest.mark.parametrize("piece", [N, 700])
def test_rows_of_a_window_take_600_bytes_at_most(piece: int) -> None:
    """However the subscriptions came, and while a window slides over them three times."""
    options = workload.Options(n_publications=4 * LIVE, n_subscriptions=N, window_n=LIVE, k=K, seed=1)
    made, engine = workload.generate(options), skyband.open("window", "blocks", window=skyband.Window.count(LIVE))
    engine.publish(made.publications.slice(0, LIVE))
    for start in range(0, N, piece):
        engine.subscribe(made.subscriptions.slice(start, piece))
    for start in range(LIVE, 4 * LIVE, 100):
        engine.publish(made.publications.slice(start, 100))
        assert engine.memory()["rows"] <= 600 * N
    engine.check()
