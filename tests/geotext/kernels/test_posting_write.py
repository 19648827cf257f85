"""Keywords written down beside what numpy makes of them."""

import numpy as np

from skyband.geotext.kernels.posting import (
    ALPHA,
    GATE,
    LENGTH,
    N_HOLDER,
    N_KEYWORD,
    N_WEIGHTS,
    OWN,
    OWNER,
    PLACE,
    START,
    TERM,
    WEIGHT,
    N,
    X,
    Y,
)
from skyband.geotext.kernels.posting_write import KeywordColumns, greatest_term, write_keywords
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import Questions

N_SLOTS, N_TERMS, FIRST, ROOM = 2 * BLOCK, 12, 5, 60


def test_keywords_are_written_rarest_first() -> None:
    random = np.random.default_rng(2)
    for _ in range(30):
        n = int(random.integers(0, 9))
        slots = random.choice(N_SLOTS, n, replace=False)
        count, start = np.zeros(N_SLOTS, np.int64), np.zeros(N_SLOTS, np.int64)
        count[slots] = random.integers(0, 6, n)
        start[slots] = random.integers(0, 3) + np.cumsum(count[slots]) - count[slots]
        terms = np.zeros(ROOM, np.int64)
        for slot in slots:
            terms[start[slot] : start[slot] + count[slot]] = random.choice(N_TERMS, count[slot], replace=False)
        questions = Questions(
            kinds=np.zeros(2, np.int8),
            centre=random.random((2, 2, BLOCK)),
            weight=np.zeros((2, 0, BLOCK)),
            norm=np.zeros(N_SLOTS),
            alpha=random.random(N_SLOTS),
            signature=np.zeros(N_SLOTS, np.int64),
            term_start=start,
            term_count=count,
            terms=terms,
            term_weights=random.random(ROOM),
        )
        asked = {slot: terms[start[slot] : start[slot] + count[slot]] for slot in slots.tolist()}
        assert greatest_term(slots, questions) == max((int(term) for own in asked.values() for term in own), default=-1)
        seen, gates = random.integers(0, 3, N_TERMS), random.random(n)
        often = seen + np.bincount([term for own in asked.values() for term in own], minlength=N_TERMS)
        into = KeywordColumns(
            np.full((N_SLOTS, N_HOLDER), -7.0),
            np.full((ROOM, N_KEYWORD), -7, np.int32),
            np.full((ROOM, N_WEIGHTS), -7.0),
            np.full(ROOM, -7, np.float32),
        )
        end, at = write_keywords(slots, questions, gates, seen, FIRST, into), FIRST
        assert (seen == often).all()
        for i, slot in enumerate(slots.tolist()):
            own, weights = asked[slot], questions.term_weights[start[slot] : start[slot] + count[slot]]
            here, order = slice(at, at + len(own)), np.lexsort((-own, often[own]))
            keywords, alpha = into.keywords[here], questions.alpha[slot]
            assert keywords[:, TERM].tolist() == own[order].tolist()
            assert (keywords[:, OWNER] == slot).all()
            assert (keywords[:, PLACE] == -1).all()
            assert (into.keywords[keywords[:, OWN], TERM] == own).all()
            assert (into.weights[here, WEIGHT] == weights[order]).all()
            exact = np.sqrt(np.cumsum((weights[order] ** 2)[::-1])[::-1])
            assert (into.weights[here, LENGTH] > exact).all()
            assert np.allclose(into.weights[here, LENGTH], exact, atol=2e-6)
            assert (into.texts[here] == (weights[order] * (1.0 - alpha)).astype(np.float32)).all()
            block, seat = slot // BLOCK, slot % BLOCK
            wanted = {X: questions.centre[block, 0, seat], Y: questions.centre[block, 1, seat], ALPHA: alpha}
            wanted |= {GATE: gates[i], START: at, N: len(own)}
            assert into.holders[slot].tolist() == [wanted[column] for column in range(N_HOLDER)]
            at += len(own)
        assert end == at
        assert (into.keywords[end:] == -7).all()
