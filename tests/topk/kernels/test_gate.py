"""Gates read off rows, against a count of who is live at each time."""

import numpy as np

from skyband.kernels.heap import make_heap
from skyband.topk.kernels.gate import FOR_EVER, CandidateRows, Stairs, read_gates, read_stairs


def draw(random: np.random.Generator, n_rows: int) -> CandidateRows:
    """Rows in a pool with gaps, of few scores and times, some for ever and some shorter than their k."""
    n = random.integers(0, 9, n_rows)
    start = np.cumsum(n + 1) - n
    item = random.integers(10, 30, int(start[-1] + n[-1]))
    score = np.empty(len(item))
    for lo, length in zip(start, n, strict=True):
        score[lo : lo + length] = np.sort(random.integers(0, 4, length))
    span = np.where(random.random(n_rows) < 0.3, FOR_EVER, random.integers(1, 12, n_rows))
    ts, k = random.integers(0, 8, 20), random.integers(1, 5, n_rows)
    return CandidateRows(start, n, k, span, np.full(n_rows, np.inf), item, score, ts, 10)


def gate_of(kept: CandidateRows, row: int, time: int) -> float:
    """The k-th score of those that are live."""
    entries = range(kept.start[row], kept.start[row] + kept.n[row])
    span = int(kept.span[row])
    live = [at for at in entries if span == FOR_EVER or int(kept.ts[kept.item[at] - kept.base]) + span > time]
    return float(kept.score[live[kept.k[row] - 1]]) if len(live) >= kept.k[row] else np.inf


def test_gates_and_steps_are_those_of_whoever_is_live() -> None:
    random = np.random.default_rng(5)
    for _ in range(40):
        kept = draw(random, 12)
        room = int(kept.n.sum()) + 12
        stairs, gates = Stairs(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)), np.empty(12)
        n_steps = read_stairs(kept, 8, make_heap(8), stairs)
        for time in range(8, 22):
            read_gates(kept, time, gates)
            for row in range(12):
                wanted = gate_of(kept, row, time)
                assert gates[row] == wanted
                reached = np.flatnonzero((stairs.row[:n_steps] == row) & (stairs.at[:n_steps] <= time))
                assert stairs.gate[reached[-1]] == wanted
        follows = np.flatnonzero(np.diff(stairs.row[:n_steps]) == 0)
        assert (stairs.gate[follows] < stairs.gate[follows + 1]).all()
        assert (stairs.at[follows] < stairs.at[follows + 1]).all()
