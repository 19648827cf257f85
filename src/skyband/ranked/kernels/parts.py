"""Parts: what subscriptions ask of single dimensions, each an interval with a key that ranks it.

A part is a row of four numbers, half a cache line: whoever finds one in an index looks at one place of memory for its
exact ends, its key and its owner. The parts of a subscription lie side by side in the order of their dimensions.

In an index of a dimension parts come in descending order of their keys, of equal keys the one first whose owner has
the larger label. A part that is dead has an empty interval, which nothing meets, and keeps its key and its owner for as
long as an index holds it. Invariants: keys are not negative; no two parts of a dimension have the same owner.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined

LO, HI, KEY, OWNER = range(4)

# No part, where a cursor has come to its end, and a cursor that had not enough room.
END, CRAMPED = -1, -2


class Parts(NamedTuple):
    """`fact` by part and column (LO, HI, KEY, OWNER), `dim` and `weight` by part; `label` by owner, larger first."""

    fact: Floats
    dim: Int32s
    weight: Floats
    label: Int64s


@inlined
def ahead(parts: Parts, p: int, q: int) -> bool:
    """Whether part p comes before part q."""
    fact = parts.fact
    key_p, key_q = fact[p, KEY], fact[q, KEY]
    return key_p > key_q or (key_p == key_q and parts.label[int(fact[p, OWNER])] > parts.label[int(fact[q, OWNER])])


def rounded_down(numbers: Floats) -> Float32s:
    """The largest numbers of 32 bits that are not greater."""
    with np.errstate(over="ignore"):
        near = numbers.astype(np.float32)
        return np.where(near > numbers, np.nextafter(near, np.float32(-np.inf)), near)


def rounded_up(numbers: Floats) -> Float32s:
    """The smallest numbers of 32 bits that are not less."""
    return -rounded_down(-numbers)
