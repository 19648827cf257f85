"""What engines that keep bands share with their kernels: the settings of rows, and the workspace of a call."""

from typing import NamedTuple

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.heap import Heap
from skyband.topk.kernels.band import Bands, Departed
from skyband.topk.kernels.deliveries import DeliverySet
from skyband.topk.kernels.grid import Grid
from skyband.topk.kernels.scan import Rules
from skyband.topk.kernels.score import Questions
from skyband.topk.kernels.seek import CellSpace, TermSpace

# What a row keeps: everything undominated up to its bound, or the best so many.
DOMINANCE = 0
BEST = 1
# Where its bound comes from: nowhere, the last search, the most recent publications, or the chances of a newcomer.
NO_BOUND = 0
SEARCH = 1
RECENT = 2
CHANCE = 3

SEARCHED = 0
SCORED = 1
THRESHOLD_UPDATES = 2
CANDIDATES = 3
RESCANNED = 4
CELL_UPDATES = 5
MENDED = 6
# No count: it takes what comes of asking for memory.
SEEN = 7
N_COUNTS = 8

# What there was no room for: places of the pool, deliveries to remember, and changes.
PLACES = 0
PAIRS = 1
CHANGES = 2
N_WANTED = 3


class Odds(NamedTuple):
    """For rows bounded by chance: how many entries within the bound are too few, right, and too many, by slot.

    An entry behind the bound that has d dominators and a share of its life left that falls into the j-th of `n_shares`
    equal parts is kept while at most `ranks[first_rank[slot] + d * n_shares + j]` older entries are better.
    """

    low: Int64s
    target: Int64s
    high: Int64s
    first_rank: Int64s
    ranks: Int64s
    n_shares: int


class RowSettings(NamedTuple):
    """How the rows of an engine are kept: `keeps` and `bounded_by` are among the names above.

    `depth[slot]` is how many publications a search looks for. `n_recent` is the length of the shared buffer of the
    most recent publications, and `watch[slot]` the least stamp among the k of them that bound the row. With a `slack`
    a search looks for the k best and for whatever is worse than the k-th by at most this share of it, `depth` in all.
    """

    keeps: int
    bounded_by: int
    depth: Int64s
    n_recent: int
    watch: Int64s
    odds: Odds
    slack: float


class Leaving(NamedTuple):
    """The publications that leave the shared buffer of the most recent ones, oldest first, as indices into the store.

    With a step for each publication, the one with stamp s leaves in step `s - first_stamp`.
    """

    indices: Int64s
    first_stamp: int


class BandSubscribers(NamedTuple):
    """All that is kept of subscriptions, by slot."""

    questions: Questions
    rules: Rules
    bands: Bands
    settings: RowSettings
    turn: Int64s


class Cells(NamedTuple):
    """The cells of interest of an index that has a grid: their set stays the same while a gate is within its band.

    `counted` says whether there is such an index; a band that is empty is not known yet.
    """

    counted: bool
    grid: Grid
    inner: Floats
    outer: Floats


class Workspace(NamedTuple):
    """Working space: weights by term, scores of everything stored, the candidates of a slot, a heap, who departed.

    Deliveries are remembered in `deliveries`; those that are `known` from before are only looked at, so that threads
    may share them. What is stored is searched in `space`. `moved` lists the slots whose gate has moved, `n_moved[0]` of
    them; `counts` adds up what calls cost.
    `wanted` says how much room is needed to go on, by the names above, where a kernel stopped for want of it.
    """

    said: Floats
    run: Floats
    publication: Int64s
    directed: Floats
    heap: Heap
    departed: Departed
    deliveries: DeliverySet
    known: DeliverySet
    space: CellSpace | TermSpace
    cells: Cells
    moved: Int64s
    n_moved: Int64s
    counts: Int64s
    wanted: Int64s
