"""Routing tables: the subscriptions that a search does not find covered by others of the table.

They are placed one by one, in an order where whatever covers another comes before it.
"""

import time
from typing import NamedTuple

import numpy as np

from skyband.bench.covering_data import Data
from skyband.covering.kernels.corners import NONE
from skyband.covering.roots import Roots
from skyband.covering.search import Search
from skyband.kernels.array import Bools, Int64s

# So many subscriptions are placed between two looks at the clock.
AT_ONCE = 200


class Table(NamedTuple):
    """A routing table: for each subscription that was placed, in order, whether it stayed; and the seconds it took."""

    roots: Roots
    stayed: Bools
    seconds: float


def empty(data: Data) -> Roots:
    """All subscriptions as members, and no roots."""
    roots = Roots(data.setting.domains, data.setting.bits)
    roots.store(np.arange(len(data.points)), data.points)
    return roots


def placed(search: Search, slots: Int64s, budget: float) -> Table:
    """Place subscriptions until all are, or so many seconds have passed."""
    start, stayed, done = time.perf_counter(), list[Bools](), 0
    at_once = AT_ONCE if np.isfinite(budget) else len(slots)
    while not done or (done < len(slots) and time.perf_counter() - start < budget):
        stayed.append(search.place(slots[done : done + at_once], demoting=False).parents == NONE)
        done += at_once
    return Table(search.roots, np.concatenate(stayed), time.perf_counter() - start)


def table_measures(table: Table, reference: Table) -> dict[str, float]:
    """The table in multiples of the exact one, which may have had more placed."""
    n, n_stayed = len(table.stayed), float(table.stayed.sum())
    return {
        "roots": n_stayed,
        "longer": n_stayed / float(reference.stayed[:n].sum()),
        "placed": n / len(reference.stayed),
        "place_us": table.seconds / n * 1e6,
    }
