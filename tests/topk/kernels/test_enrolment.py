"""Questions written down by slot beside numpy."""

import numpy as np

from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.enrolment import QuestionRows, write_questions
from skyband.topk.kernels.score import Questions

N_SLOTS = 2 * BLOCK


def test_what_slots_ask_is_written_down_and_nothing_else() -> None:
    random = np.random.default_rng(1)
    for weighted in (0, 3):
        n, n_terms = 7, 4
        slots = random.choice(N_SLOTS, n, replace=False)
        counts = random.integers(0, 3, n)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        terms = random.integers(0, 9, offsets[-1])
        rows = QuestionRows(
            random.random((n, 3)),
            random.random((n, weighted)),
            random.random(n),
            random.random(n),
            random.integers(0, 9, n),
            offsets,
            terms,
            random.random(len(terms)),
        )
        into = Questions(
            kinds=np.zeros(2, np.int8),
            centre=np.full((2, 3, BLOCK), -1.0),
            weight=np.full((2, weighted, BLOCK), -1.0),
            norm=np.full(N_SLOTS, -1.0),
            alpha=np.full(N_SLOTS, -1.0),
            signature=np.full(N_SLOTS, -1),
            term_start=np.full(N_SLOTS, -1),
            term_count=np.full(N_SLOTS, -1),
            terms=np.full(N_SLOTS, -1),
            term_weights=np.full(N_SLOTS, -1.0),
        )
        write_questions(rows, slots, n_terms, into)
        block, i = slots // BLOCK, slots % BLOCK
        assert (into.centre[block, :, i] == rows.points).all()
        assert (into.weight[block, :, i] == rows.weights).all()
        assert (into.norm[slots] == rows.norms).all()
        assert (into.alpha[slots] == rows.alphas).all()
        assert (into.signature[slots] == rows.signatures).all()
        assert (into.term_start[slots] == n_terms + offsets[:-1]).all()
        assert (into.term_count[slots] == counts).all()
        assert (into.terms[n_terms : n_terms + len(terms)] == terms).all()
        assert (into.term_weights[n_terms : n_terms + len(terms)] == rows.term_weights).all()
        assert (into.norm != -1.0).sum() == (into.term_start != -1).sum() == n
        assert (into.centre != -1.0).sum() == 3 * n
        assert (into.terms != -1).sum() == len(terms)
