"""How what new subscriptions ask is written down, by slot."""

from typing import NamedTuple

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import Questions


class QuestionRows(NamedTuple):
    """What new subscriptions ask: vectors by row, and terms as lists laid end to end."""

    points: Floats
    weights: Floats
    norms: Floats
    alphas: Floats
    signatures: Int64s
    offsets: Int64s
    terms: Int64s
    term_weights: Floats


@kernel
def write_questions(rows: QuestionRows, slots: Int64s, n_terms: int, into: Questions) -> None:
    """Write down what these slots ask; there is room, also for terms behind the first `n_terms`."""
    for row in range(len(slots)):
        slot, block, i = slots[row], slots[row] // BLOCK, slots[row] % BLOCK
        for j in range(rows.points.shape[1]):
            into.centre[block, j, i] = rows.points[row, j]
        for j in range(rows.weights.shape[1]):
            into.weight[block, j, i] = rows.weights[row, j]
        into.norm[slot], into.alpha[slot], into.signature[slot] = (
            rows.norms[row],
            rows.alphas[row],
            rows.signatures[row],
        )
        into.term_start[slot] = n_terms + rows.offsets[row]
        into.term_count[slot] = rows.offsets[row + 1] - rows.offsets[row]
    for i in range(len(rows.terms)):
        into.terms[n_terms + i], into.term_weights[n_terms + i] = rows.terms[i], rows.term_weights[i]
