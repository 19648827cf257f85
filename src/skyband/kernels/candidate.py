"""Candidates: pairs of a slot and a publication that pass the slot's gate, as an index finds them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.compile import kernel


class Candidates(NamedTuple):
    """Pairs as they are found; `length[0]` are in use. Publications are indices into the store.

    `counts` adds up the pairs that were scored to find them.
    """

    length: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    publication: npt.NDArray[np.int64]
    directed: npt.NDArray[np.float64]


def make_candidates(capacity: int) -> Candidates:
    """Room for `capacity` pairs."""
    return Candidates(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
    )


class Grouped(NamedTuple):
    """Candidates by slot: those of `slots[i]` are `start[i]` to `start[i + 1]`."""

    slots: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    publication: npt.NDArray[np.int64]
    directed: npt.NDArray[np.float64]


@kernel
def group(found: Candidates, order: npt.NDArray[np.int64], due: npt.NDArray[np.int64], into: Grouped) -> int:
    """Lay the candidates out by slot, in this order of theirs, with the slots of `due` among them; both are ascending.

    Returns how many slots there are.
    """
    slots, publications, directed = found.slot, found.publication, found.directed
    to_slot, start, to_publication, to_directed = into
    n, next_due, before = 0, 0, -1
    for i in range(len(order)):
        at = order[i]
        slot = slots[at]
        if slot != before:
            while next_due < len(due) and due[next_due] < slot:
                to_slot[n], start[n] = due[next_due], i
                n, next_due = n + 1, next_due + 1
            if next_due < len(due) and due[next_due] == slot:
                next_due += 1
            to_slot[n], start[n] = slot, i
            n, before = n + 1, slot
        to_publication[i], to_directed[i] = publications[at], directed[at]
    for i in range(next_due, len(due)):
        to_slot[n], start[n] = due[i], len(order)
        n += 1
    start[n] = len(order)
    return n
