"""The arrangement of scored intervals: left to right as far as their constraint graph allows.

Algorithm 1 of the paper on ranked publish/subscribe: of the intervals that nobody has to come before any more, the one
with the leftmost start comes next. In leaves of intervals side by side in this order there are few holes: of two leaves
in a row whose extents have a point, one has an interval with it. Invariants: `ready` has the intervals, by their places
from the left, that are not placed while all that have an edge to them are, the edges of the latest being gone through;
FLOOR is not greater than any of these places.
"""

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import kernel
from skyband.ranked.kernels.bits import Bits, check_bits, clear_bit, members, next_bit, set_bit
from skyband.ranked.kernels.constraint import NEXT, TARGET, Graph, IntervalPositions, edges_of

# What placing has to remember: how many are placed, the edge of the latest that comes next, and a bound.
N_PLACED, EDGE, FLOOR = range(3)


@kernel
def arrange_steps(
    graph: Graph, spans: IntervalPositions, by_left: Int32s, steps: int, state: Int64s, ready: Bits, placed: Int32s
) -> bool:
    """Place intervals, a step for each of them and for each edge; returns whether more is to be done."""
    heads, degrees, edges, lefts = graph.head, graph.degree, graph.edge, spans.left
    n_placed, edge, floor = state[N_PLACED], state[EDGE], state[FLOOR]
    while steps > 0 and n_placed < len(placed):
        steps -= 1
        if edge == 0:
            left = next_bit(ready, floor)
            clear_bit(ready, left)
            floor = left + 1
            placed[n_placed] = by_left[left]
            edge = heads[placed[n_placed]]
            n_placed += 1
        else:
            target = edges[edge, TARGET]
            degrees[target] -= 1
            if degrees[target] == 0:
                set_bit(ready, lefts[target])
                floor = min(floor, lefts[target])
            edge = edges[edge, NEXT]
    state[N_PLACED], state[EDGE], state[FLOOR] = n_placed, edge, floor
    return n_placed < len(placed)


def check_ready(graph: Graph, spans: IntervalPositions, state: Int64s, ready: Bits, placed: Int32s) -> None:
    """Assert the invariants."""
    done = set(placed[: state[N_PLACED]].tolist())
    waiting = [i for i in range(len(placed)) if i not in done]
    expected = sorted(int(spans.left[i]) for i in waiting if graph.degree[i] == 0)
    check_bits(ready, len(placed))
    assert members(ready).tolist() == expected
    assert all(left >= state[FLOOR] for left in expected)
    if state[EDGE] == 0:
        sources = {target: source for source, target in edges_of(graph) if source not in done}
        assert [i for i in waiting if graph.degree[i] > 0] == sorted(sources)
