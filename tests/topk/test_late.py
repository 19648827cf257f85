"""What a publication costs that comes out of order: so much as is more recent, however many subscribe."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.table import Window
from skyband.topk import banded, store
from skyband.window import workload

N_LIVE, N_LATER = 400, 200


def publications(seed: int, late: bool) -> pa.Table:
    """A window full and more; `late` puts every other one of the later ones back among the last twenty."""
    options = workload.Options(n_publications=N_LIVE + N_LATER, n_subscriptions=1, seed=seed)
    made = pa.concat_tables(workload.stream(options, N_LIVE + N_LATER))
    ts = np.arange(N_LIVE + N_LATER) * 1000
    if late:
        some = np.arange(N_LIVE, N_LIVE + N_LATER, 2)
        ts[some] -= 1000 * np.random.default_rng(seed).integers(1, 20, len(some)) + 500
    return made.set_column(made.column_names.index("ts"), "ts", pa.array(ts))


def publish(monkeypatch: pytest.MonkeyPatch, late: bool, window: Window) -> dict[str, int]:
    """One at a time: how many rows were due, and how many publications were moved on."""
    counted = {"due": 0, "moved": 0}

    def counting(module: Any, name: str, as_what: str) -> None:
        kernel = getattr(module, name)

        def call(*arguments: Any) -> int:
            n: int = kernel(*arguments)
            counted[as_what] += n
            return n

        monkeypatch.setattr(module, name, call)

    asked = workload.subscriptions(workload.Options(n_publications=N_LIVE, n_subscriptions=300, seed=1))
    asked = asked.select([name for name in asked.column_names if not name.startswith("window")])
    engine, rows = skyband.open("window", "blocks", window=window), publications(1, late)
    engine.publish(rows.slice(0, N_LIVE))
    engine.subscribe(asked)
    counting(banded, "find_due", "due")
    counting(store, "put_in_place", "moved")
    for i in range(N_LIVE, N_LIVE + N_LATER):
        engine.publish(rows.slice(i, 1))
    engine.check()
    monkeypatch.undo()
    return counted


@pytest.mark.parametrize("window", [Window.count(N_LIVE), Window.time(1000 * N_LIVE)])
def test_late_ones_cost_what_they_move(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    in_order, late = publish(monkeypatch, False, window), publish(monkeypatch, True, window)
    assert in_order["moved"] == 0
    assert 0 < late["moved"] <= N_LATER / 2 * 20
    # A row is looked at early now and then, since nobody tells it that its stamps have risen.
    assert late["due"] <= 1.2 * in_order["due"]
