"""Answers in one form, and whether two of them are the same.

A peer may compute in single precision, or add in another order, so scores may differ in their last digits, and so may
the order of two that are as good as equal. A difference is accepted only if the score of what the peer names, computed
again from the data, is as good as that of what it stands in for.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skyband.bench.runner import WrongAnswer
from skyband.kernels.array import Bools, Floats, Int64s

Rescore = Callable[[Int64s, Int64s], Floats]


class Answer(NamedTuple):
    """Who is answered and with what: ids side by side, best first for each asker.

    In a standing question the asker is a subscription and the items are publications; where publications are matched
    with subscriptions it is the other way round.
    """

    asker: Int64s
    item: Int64s
    score: Floats

    @property
    def n(self) -> int:
        return len(self.asker)


def ranked(asker: Int64s, item: Int64s, score: Floats, *, ascending: bool) -> Answer:
    """An answer from rows in any order; of equal scores the larger id is first, which is the more recent one."""
    order = np.lexsort((-item, score if ascending else -score, asker))
    return Answer(asker[order], item[order], score[order])


def matched(asker: Int64s, item: Int64s) -> Answer:
    """An answer without scores from rows in any order."""
    order = np.lexsort((item, asker))
    return Answer(asker[order], item[order], np.zeros(len(order)))


def best(asker: Int64s, item: Int64s, score: Floats, k: int, *, ascending: bool) -> Answer:
    """The first k of each asker."""
    answer = ranked(asker, item, score, ascending=ascending)
    firsts = np.flatnonzero(np.diff(answer.asker, prepend=answer.asker[0] - 1 if answer.n else 0))
    rank = np.arange(answer.n) - np.repeat(firsts, np.diff(np.append(firsts, answer.n)))
    few = rank < k
    return Answer(answer.asker[few], answer.item[few], answer.score[few])


def require_same(
    theirs: Answer, ours: Answer, rescore: Rescore | None, tolerance: float, oldest: int, what: str
) -> None:
    """Raise `WrongAnswer` unless two answers are the same.

    Without `rescore` every item has to be the same. `oldest` is the least id of an item that is live.
    """
    if not np.array_equal(theirs.asker, ours.asker):
        raise WrongAnswer(f"{what}: the answers differ ({theirs.n} rows, and {ours.n} were expected).")
    other = np.flatnonzero(theirs.item != ours.item)
    if not len(other):
        return
    asker, item = theirs.asker[other], theirs.item[other]
    wrong = np.ones(len(other), np.bool_)
    if rescore is not None:
        wrong = ~(np.abs(rescore(asker, item) - ours.score[other]) <= tolerance) | (item < oldest)
    wrong |= _repeated(theirs)[other]
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise WrongAnswer(
            f"{what}: the answers differ in {int(wrong.sum())} of {ours.n} rows; {asker[i]} is answered with "
            f"{item[i]}, and {ours.item[other[i]]} was expected."
        )


def _repeated(answer: Answer) -> Bools:
    """Which rows name an item that the same asker has in another row too."""
    order = np.lexsort((answer.item, answer.asker))
    same = (np.diff(answer.asker[order]) == 0) & (np.diff(answer.item[order]) == 0)
    found = np.zeros(answer.n, np.bool_)
    found[order[1:][same]] = found[order[:-1][same]] = True
    return found


def recall(theirs: Answer, ours: Answer) -> float:
    """Which share of our rows a peer found that may miss some."""
    pairs = [np.stack([answer.asker, answer.item], axis=1) for answer in (theirs, ours)]
    found = {tuple(pair) for pair in pairs[0].tolist()}
    return sum(tuple(pair) in found for pair in pairs[1].tolist()) / max(ours.n, 1)
