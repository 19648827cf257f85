"""When the first entry of a row is over: each block of slots has a bound on that, so that most are passed over.

What arrives out of order lets stamps rise and never fall. So an age that was noted before is no more than the age is
now, and nobody has to look for it again: its row is looked at a little early, and its age found out then.
"""

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.band import SIZE, START
from skyband.topk.kernels.scan import LARGEST, TIME, UNBOUNDED, Live, Rules, Steps
from skyband.topk.kernels.workspace import BandSubscribers


@inlined
def note_due(rules: Rules, slot: int) -> None:
    """Lower the bound of the slot's block on when an entry is over."""
    if rules.oldest[slot] < LARGEST and rules.window_kind[slot] != UNBOUNDED:
        block, unit = slot // BLOCK, rules.window_kind[slot] - TIME
        rules.due[block, unit] = min(rules.due[block, unit], rules.oldest[slot] + rules.window_size[slot])


@kernel
def note_all_due(slots: Int64s, rules: Rules) -> None:
    """Lower the bounds of the blocks of these slots."""
    for slot in slots:
        note_due(rules, slot)


@kernel
def find_due(rules: Rules, watch: Int64s, n_blocks: int, n_recent: int, steps: Steps, due: Int64s) -> int:
    """Write down, in ascending order, the slots that have an entry which is over by the last step; returns how many.

    There are so many blocks of slots; arrays may be longer. Where rows are bounded by the most recent publications,
    these are `n_recent`, and `watch` says by slot until when a bound holds; elsewhere `n_recent` is less than 0.
    """
    oldest, window_kinds, window_sizes, dues = rules.oldest, rules.window_kind, rules.window_size, rules.due
    now, stamps_end = steps.now[-1], steps.stamps_end[-1]
    recent, first_recent = n_recent >= 0, stamps_end - n_recent
    n = 0
    for block in range(n_blocks):
        if not recent and dues[block, 0] > now and dues[block, 1] >= stamps_end:
            continue
        next_time, next_stamp = LARGEST, LARGEST
        for slot in range(block * BLOCK, (block + 1) * BLOCK):
            age, window_kind = oldest[slot], window_kinds[slot]
            over = LARGEST
            if age < LARGEST and window_kind != UNBOUNDED:
                over = age + window_sizes[slot]
            if over <= (now if window_kind == TIME else stamps_end - 1) or (recent and watch[slot] < first_recent):
                due[n] = slot
                n += 1
            elif window_kind == TIME:
                next_time = min(next_time, over)
            else:
                next_stamp = min(next_stamp, over)
        dues[block, 0], dues[block, 1] = next_time, next_stamp
    return n


def check_due(subscribers: BandSubscribers, live: Live, slots: Int64s) -> None:
    """Assert that no entry of a row is older than the row is taken to be, nor over before its block is due."""
    rules, bands = subscribers.rules, subscribers.bands
    for slot in slots.tolist():
        kind, start = int(rules.window_kind[slot]), int(bands.head[slot, START])
        indices = bands.item[start : start + int(bands.head[slot, SIZE])] - live.base
        if kind == UNBOUNDED or not len(indices):
            continue
        ages = live.ts if kind == TIME else live.stamp
        assert rules.oldest[slot] <= ages[indices].min()
        assert rules.due[slot // BLOCK, kind - TIME] <= rules.oldest[slot] + rules.window_size[slot]
