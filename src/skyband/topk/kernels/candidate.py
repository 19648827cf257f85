"""Candidates: pairs of a slot and a publication that pass the slot's gate, as an index finds them."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel


class Candidates(NamedTuple):
    """Pairs as they are found; `length[0]` are in use. Publications are indices into the store.

    `counts` adds up the pairs that were scored to find them.
    """

    length: Int64s
    counts: Int64s
    slot: Int64s
    publication: Int64s
    directed: Floats


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

    slots: Int64s
    start: Int64s
    publication: Int64s
    directed: Floats


@kernel
def group(found: Candidates, order: Int64s, due: Int64s, into: Grouped) -> int:
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
