"""Scores on Earth of the candidates that a flat map has found."""

from skyband.kernels.array import Floats
from skyband.kernels.compile import kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, Questions, message_score, relevance_of, say, unsay


@kernel
def score_again(candidates: Candidates, since: int, contents: Contents, questions: Questions, said: Floats) -> None:
    """Write down the directed scores of the candidates from `since` on; `said` is all zero before and after."""
    slots, publications, directed = candidates.slot, candidates.publication, candidates.directed
    terms, weights = questions.terms, questions.term_weights
    spoken = -1
    for at in range(since, candidates.length[0]):
        slot, publication = slots[at], publications[at]
        if publication != spoken:
            if spoken >= 0:
                unsay(contents, spoken, said)
            say(contents, publication, said)
            spoken = publication
        start = questions.term_start[slot]
        relevance = relevance_of(terms, weights, start, start + questions.term_count[slot], said)
        directed[at] = message_score(questions, slot, contents, publication, relevance)
    if spoken >= 0:
        unsay(contents, spoken, said)
