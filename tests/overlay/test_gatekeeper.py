"""Which gates are sent: ranks of what has come, widened to the cells they reach, beside plain sorting."""

import random

import numpy as np
import pytest

from skyband.contract import FAMILIES
from skyband.overlay.broker.frame import Publication, Steps
from skyband.overlay.broker.gatekeeper import RankGate
from skyband.overlay.broker.step import gate_at
from skyband.overlay.simulate.scenario import FamilyDraw
from skyband.table import Settings

SETTINGS = Settings()


@pytest.mark.parametrize("share", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_a_rank_gate_is_the_nth_best_of_what_is_young(seed: int, share: int) -> None:
    """As young as the window, or, as SASF has it, as a part of it."""
    chance, its = random.Random(seed), FAMILIES["window"].routing
    asked = its.subscription(FamilyDraw().subscription(chance, 0, 10) | {"k": 2}, SETTINGS)
    span = asked.window // share
    n, gate, scores = 3, RankGate(asked, 3, None, span), []
    for id in range(60):
        spoken = its.spoken({"id": id, "ts": id} | FamilyDraw().content(chance), SETTINGS)
        gate.add(Publication(0, id, spoken, {}, 0))
        scores.append((id, asked.score(spoken.content)))
        live = sorted((score for ts, score in scores if ts + span > id), reverse=not asked.ascending)
        assert gate.at(id) == (live[n - 1] if len(live) >= n else asked.open_gate)


@pytest.mark.parametrize("score", ["euclidean", "chebyshev"])
def test_by_cells_a_gate_moves_only_when_it_reaches_others(score: str) -> None:
    """It is never narrower than the true one, and lets in nothing of a cell that this one does not reach."""
    chance, its = random.Random(5), FAMILIES["window"].routing
    row = {"id": 0, "k": 1, "score": score, "point": [0.4, 0.3], "window_us": 10**6}
    asked = its.subscription(row, SETTINGS)
    lows = [np.array([i / 4, j / 4]) for i in range(4) for j in range(4)]
    bests = [asked.best(low, low + 0.25) for low in lows]
    plain, by_cells, moves = (
        RankGate(asked, 1, None, asked.window),
        RankGate(asked, 1, bests, asked.window),
        [set[float](), set[float]()],
    )
    for id in range(80):
        spoken = its.spoken({"id": id, "ts": id, "point": [chance.random(), chance.random()]}, SETTINGS)
        for gate in (plain, by_cells):
            gate.add(Publication(0, id, spoken, {}, 0))
        true, wide = plain.at(id), by_cells.at(id)
        assert wide >= true
        assert [best <= wide for best in bests] == [best <= true for best in bests]
        moves[0].add(true)
        moves[1].add(wide)
    assert len(moves[1]) < len(moves[0])


def test_a_gate_is_that_of_its_last_step() -> None:
    steps: Steps = ((10, 1.0), (20, 2.0), (20 + 5, 3.0))
    assert [gate_at(steps, at) for at in (0, 10, 19, 20, 24, 25, 99)] == [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
