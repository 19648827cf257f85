"""Scores of blocks and runs against the definitions, to the last bit."""

import numpy as np
import numpy.typing as npt
import pytest

import skyband
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import direction, gate_of, raw_score, score_run, score_tile
from skyband.topk.scan import ContinuousScan
from skyband.topk.score import FORMS, Score

DIMS, PUBLICATIONS = 3, 11


def _engine(score: str, random: np.random.Generator) -> ContinuousScan:  # type: ignore[type-arg]  # any family will do
    engine = skyband.open("window", "scan")
    assert isinstance(engine, ContinuousScan)
    vector = "weights" if score == "sum" else "point"
    subscriptions = [{"id": i, "k": 1, "score": score, vector: random.normal(size=DIMS).tolist()} for i in range(5)]
    subscriptions[0][vector] = [0.0] * DIMS
    subscriptions[1][vector][1:] = [0.0, -0.0]
    subscriptions[2][vector][0] = -0.0
    if score == "chebyshev":
        for row in subscriptions:
            row["weights"] = random.random(DIMS).tolist()
    engine.subscribe(subscriptions)
    engine.publish([{"id": i, "ts": i, "point": random.normal(size=DIMS).tolist()} for i in range(PUBLICATIONS)])
    return engine


@pytest.mark.parametrize("score", ["euclidean", "chebyshev", "sum", "cosine"])
def test_points_are_scored_as_defined(score: str) -> None:
    engine = _engine(score, np.random.default_rng(5))
    questions, contents = engine._question_store.questions, engine._opened().contents
    tile: npt.NDArray[np.float64] = np.zeros((PUBLICATIONS, BLOCK))
    run = np.zeros(PUBLICATIONS)
    score_tile(questions, 0, contents, 0, PUBLICATIONS, np.zeros(1), tile)
    kind = int(questions.kinds[0])
    for slot in range(5):
        centre, weights = questions.centre[0, :, slot].tolist(), questions.weight[0, :, slot].tolist()
        points = contents.point[:, :PUBLICATIONS].T.tolist()
        wanted = [FORMS[Score[score.upper()]].of(centre, weights, point) for point in points]
        score_run(questions, slot, contents, 0, PUBLICATIONS, np.zeros(1), run)
        assert [raw_score(kind, directed) for directed in run] == wanted
        assert [raw_score(kind, directed) for directed in tile[:, slot]] == wanted
        assert run.tobytes() == tile[:, slot].tobytes()


@pytest.mark.parametrize("kind", range(5))
def test_a_gate_lets_pass_what_is_no_worse(kind: int) -> None:
    random = np.random.default_rng(kind)
    for directed in [0.0, 5e-324, 1e-320, 1e-300, *random.random(200) * 10.0 ** random.integers(-160, 150, 200)]:
        key = direction(kind) * raw_score(kind, directed)
        assert directed <= gate_of(kind, key)
    assert gate_of(kind, np.inf) == np.inf
    assert gate_of(kind, -np.inf) == -np.inf
