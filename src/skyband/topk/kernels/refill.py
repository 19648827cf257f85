"""Refilling rows: searches of the store, the k-skyband of everything, and bounds that follow recency or chance.

All of it is rare beside arrivals, so these functions take whole groups of arrays.
"""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import heap_push, heap_sort, worse
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.band import (
    BOUND,
    BOUND_ITEM,
    ONE_DOMINATOR,
    SIGN,
    SIZE,
    START,
    Bands,
    Departed,
    K,
    Recency,
    ensure_room,
    insert,
    is_within,
)
from skyband.topk.kernels.cpm import StoreQuery
from skyband.topk.kernels.deliveries import DeliverySet
from skyband.topk.kernels.scan import LARGEST, TIME, UNBOUNDED, Live, Published, Rules, Steps
from skyband.topk.kernels.score import direction, raw_score, score_run
from skyband.topk.kernels.seek import seek
from skyband.topk.kernels.workspace import (
    CHANCE,
    DOMINANCE,
    RECENT,
    SCORED,
    SEARCH,
    SEARCHED,
    BandSubscribers,
    Workspace,
)


@inlined
def cut_of(window_kind: int, window_size: int, now: int, stamps_end: int) -> int:
    """The largest age that is over, in the unit of the window; the least integer where nothing ends."""
    if window_kind == UNBOUNDED:
        return -LARGEST - 1
    return (now if window_kind == TIME else stamps_end - 1) - window_size


@inlined
def _cut(rules: Rules, slot: int, steps: Steps, step: int) -> int:
    return cut_of(rules.window_kind[slot], rules.window_size[slot], steps.now[step], steps.stamps_end[step])


@inlined
def capacity_of(keeps: int, sign: float, depth: int) -> int:
    """How many entries a row may have; 0 for one that evicts by dominance.

    The k most recent matches of a Boolean subscription are all that dominance leaves.
    """
    return 0 if keeps == DOMINANCE or sign == 0.0 else depth


@kernel
def _put(
    bands: Bands,
    slot: int,
    capacity: int,
    score: float,
    item: int,
    recency: Recency,
    departed: Departed,
    deliveries: DeliverySet,
    turn: int,
) -> bool:
    """Offer a candidate to the row; says whether the row took it."""
    return insert(bands, slot, capacity, score, item, recency, departed, deliveries, turn) >= 0


@inlined
def _score_of(subscribers: BandSubscribers, published: Published, slot: int, index: int, workspace: Workspace) -> float:
    score_run(subscribers.questions, slot, published.contents, index, index + 1, workspace.said, workspace.run)
    return raw_score(subscribers.questions.kinds[slot // BLOCK], workspace.run[0])


@inlined
def slackened(key: float, slack: float) -> float:
    """A key that is worse by a share of it."""
    return key + slack * abs(key)


@kernel
def n_within(bands: Bands, slot: int, slack: float) -> int:
    """How many entries of a row are at most so much worse than the k-th."""
    scores, start, sign = bands.score, bands.head[slot, START], bands.gauge[slot, SIGN]
    n, size = bands.head[slot, K], bands.head[slot, SIZE]
    bound = slackened(sign * scores[start + n - 1], slack)
    while n < size and sign * scores[start + n] <= bound:
        n += 1
    return n


@inlined
def _n_dominators(bands: Bands, slot: int, n_before: int, found: Int64s, i: int, live: Live) -> int:
    """How many are newer, of the first entries of a row and of what was found before the i-th; `found` has stamps."""
    items, start, stamp, n = bands.item, bands.head[slot, START], found[i], 0
    for at in range(start, start + n_before):
        n += live.stamp[items[at] - live.base] > stamp
    for j in range(i):
        n += found[j] > stamp
    return n


@kernel
def _make_room(bands: Bands, slot: int, found: Int64s, n_found: int, most: int, live: Live) -> None:
    """Make room for what was found and has fewer dominators than that."""
    size = bands.head[slot, SIZE]
    n = size + n_found
    for i in range(n_found):
        n -= _n_dominators(bands, slot, size, found, i, live) >= most
    ensure_room(bands, slot, n)


@kernel
def _take_in(subscribers: BandSubscribers, published: Published, slot: int, n_found: int, workspace: Workspace) -> None:
    """Append what was found to the row, which all of it comes after, but for what k dominate; the row is bounded there.

    One that was found and not taken is older than none that is: it has k dominators, and they would be theirs too.
    """
    rules, bands, settings, live = subscribers.rules, subscribers.bands, subscribers.settings, published.live
    keys, found, indices = workspace.heap
    sign, window_kind, k = bands.gauge[slot, SIGN], rules.window_kind[slot], bands.head[slot, K]
    is_best = capacity_of(settings.keeps, sign, settings.depth[slot]) > 0
    ages, n_before = live.ts if window_kind == TIME else live.stamp, bands.head[slot, SIZE]
    most = LARGEST if is_best else k
    _make_room(bands, slot, found, n_found, most, live)
    scores, items, states, oldest = bands.score, bands.item, bands.state, rules.oldest[slot]
    to = bands.head[slot, START] + n_before
    for i in range(n_found):
        index, n = indices[i], 0 if is_best else _n_dominators(bands, slot, n_before, found, i, live)
        if n >= most:
            continue
        # The key of a Boolean subscription is 0 whatever the score, so the score is computed once more.
        scores[to] = sign * keys[i] if sign != 0.0 else _score_of(subscribers, published, slot, index, workspace)
        items[to], states[to] = index + live.base, n * ONE_DOMINATOR
        oldest = min(oldest, ages[index])
        to += 1
    bands.head[slot, SIZE] = to - bands.head[slot, START]
    if window_kind != UNBOUNDED:
        rules.oldest[slot] = oldest
    bands.gauge[slot, BOUND] = np.inf
    if n_found > 0 and sign != 0.0:
        bands.gauge[slot, BOUND] = keys[n_found - 1]
        bands.head[slot, BOUND_ITEM] = indices[n_found - 1] + live.base


@kernel
def _search_store(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Search everything live for what comes after the row's last entry, as much as the row lacks to its depth.

    The bound is the last that was found, if that was as many as sought.
    """
    rules, bands, settings, live, heap = (
        subscribers.rules,
        subscribers.bands,
        subscribers.settings,
        published.live,
        workspace.heap,
    )
    stamps, base = live.stamp, live.base
    sign, size, window_kind = bands.gauge[slot, SIGN], bands.head[slot, SIZE], rules.window_kind[slot]
    last_key, last_stamp = -np.inf, LARGEST
    if size > 0:
        last = bands.head[slot, START] + size - 1
        last_key, last_stamp = sign * bands.score[last], stamps[bands.item[last] - base]
    limit, hi, cut = rules.limit[slot], steps.end[step], _cut(rules, slot, steps, step)
    want = (settings.depth[slot] if settings.slack == 0.0 else bands.head[slot, K]) - size
    ask = StoreQuery(slot, hi, cut, want, window_kind, sign, limit, last_key, last_stamp)
    n_kept = seek(workspace.space, subscribers.questions, published, ask, workspace.heap)
    workspace.counts[SEARCHED] += 1
    _take_in(subscribers, published, slot, n_kept, workspace)
    if n_kept < want or sign == 0.0:
        bands.gauge[slot, BOUND] = np.inf
    elif settings.slack > 0.0:
        bound, more = slackened(heap.keys[n_kept - 1], settings.slack), settings.depth[slot] - bands.head[slot, K]
        last_key, last_stamp = heap.keys[n_kept - 1], stamps[heap.items[n_kept - 1]]
        ask = StoreQuery(slot, hi, cut, more, window_kind, sign, min(limit, bound), last_key, last_stamp)
        n_kept = seek(workspace.space, subscribers.questions, published, ask, workspace.heap)
        _take_in(subscribers, published, slot, n_kept, workspace)
        if n_kept < more:
            bands.gauge[slot, BOUND], bands.head[slot, BOUND_ITEM] = bound, -1


@kernel
def _fill_undominated(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """The row of everything live: from the newest back, whatever k newer ones do not dominate."""
    questions, rules, bands, _, _ = subscribers
    contents, live = published
    kind, sign, limit = questions.kinds[slot // BLOCK], bands.gauge[slot, SIGN], rules.limit[slot]
    k = bands.head[slot, K]
    heap, scores, found = workspace.heap, workspace.run, workspace.publication
    ages = live.ts if rules.window_kind[slot] == TIME else live.stamp
    cut = _cut(rules, slot, steps, step)
    score_run(questions, slot, contents, live.head, steps.end[step], workspace.said, scores)
    workspace.counts[SCORED] += max(steps.end[step] - live.head, 0)
    workspace.counts[SEARCHED] += 1
    bands.gauge[slot, BOUND] = np.inf
    n_kept, n_found = 0, 0
    for stamp in range(steps.stamps_end[step] - 1, live.floor - 1, -1):
        index = live.timeline[stamp - live.origin] - live.base
        if live.stamp[index] < live.floor:
            continue
        if ages[index] <= cut:
            break
        directed = scores[index - live.head]
        if directed == np.inf or direction(kind) * raw_score(kind, directed) > limit:
            continue
        key = sign * raw_score(kind, directed)
        if n_kept == k and not worse(heap.keys[0], heap.stamps[0], key, stamp):
            # A tie is dominated too: the k kept ones are newer.
            continue
        n_kept = heap_push(heap, n_kept, k, key, stamp, index)
        found[n_found] = index
        n_found += 1
    recency, turn = Recency(live.stamp, live.base, True), subscribers.turn[slot]
    for i in range(n_found - 1, -1, -1):
        score = raw_score(kind, scores[found[i] - live.head])
        _put(bands, slot, 0, score, found[i] + live.base, recency, workspace.departed, workspace.deliveries, turn)
        if rules.window_kind[slot] != UNBOUNDED:
            rules.oldest[slot] = min(rules.oldest[slot], ages[found[i]])


@inlined
def position_of(bands: Bands, slot: int, item: int) -> int:
    """The position of an item in the row, or -1."""
    items, start = bands.item, bands.head[slot, START]
    for i in range(bands.head[slot, SIZE]):
        if items[start + i] == item:
            return i
    return -1


@kernel
def _recent_bound(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Set the bound to the k-th best of the most recent publications, and take those k into the row."""
    questions, rules, bands, settings, _ = subscribers
    contents, live = published
    kind, sign, limit = questions.kinds[slot // BLOCK], bands.gauge[slot, SIGN], rules.limit[slot]
    k = bands.head[slot, K]
    heap = workspace.heap
    ages = live.ts if rules.window_kind[slot] == TIME else live.stamp
    cut = _cut(rules, slot, steps, step)
    n_kept = 0
    first = max(live.floor, steps.stamps_end[step] - settings.n_recent)
    lowest = steps.end[step]
    for stamp in range(first, steps.stamps_end[step]):
        lowest = min(lowest, live.timeline[stamp - live.origin] - live.base)
    score_run(questions, slot, contents, lowest, steps.end[step], workspace.said, workspace.run)
    workspace.counts[SCORED] += steps.end[step] - lowest
    for stamp in range(first, steps.stamps_end[step]):
        index = live.timeline[stamp - live.origin] - live.base
        directed = workspace.run[index - lowest]
        if live.stamp[index] < live.floor or ages[index] <= cut:
            continue
        if directed != np.inf and direction(kind) * raw_score(kind, directed) <= limit:
            n_kept = heap_push(heap, n_kept, k, sign * raw_score(kind, directed), stamp, index)
    heap_sort(heap, n_kept)
    bands.gauge[slot, BOUND] = np.inf
    recency, turn = Recency(live.stamp, live.base, False), subscribers.turn[slot]
    for i in range(n_kept):
        index = heap.items[i]
        if position_of(bands, slot, index + live.base) < 0:
            score = _score_of(subscribers, published, slot, index, workspace)
            _put(bands, slot, 0, score, index + live.base, recency, workspace.departed, workspace.deliveries, turn)
            if rules.window_kind[slot] != UNBOUNDED:
                rules.oldest[slot] = min(rules.oldest[slot], ages[index])
    if n_kept == k and sign != 0.0:
        bands.gauge[slot, BOUND] = heap.keys[k - 1]
        bands.head[slot, BOUND_ITEM] = heap.items[k - 1] + live.base


@kernel
def follow_recent(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Bring the bound to the k-th best of the most recent publications, from the row if that can tell."""
    bands, settings, live = subscribers.bands, subscribers.settings, published.live
    items, scores, start, k = bands.item, bands.score, bands.head[slot, START], bands.head[slot, K]
    recency = Recency(live.stamp, live.base, False)
    first = steps.stamps_end[step] - settings.n_recent
    n_recent, at, oldest = 0, start, LARGEST
    while at < start + bands.head[slot, SIZE] and n_recent < k:
        stamp = live.stamp[items[at] - live.base]
        if stamp >= first and is_within(bands, slot, bands.gauge[slot, SIGN] * scores[at], items[at], recency):
            n_recent += 1
            oldest = min(oldest, stamp)
        at += 1
    if n_recent == k and bands.gauge[slot, SIGN] != 0.0:
        bands.gauge[slot, BOUND] = bands.gauge[slot, SIGN] * scores[at - 1]
        bands.head[slot, BOUND_ITEM] = items[at - 1]
    elif bands.gauge[slot, BOUND] < np.inf:
        _recent_bound(subscribers, published, slot, step, steps, workspace)
        oldest = LARGEST
        if bands.gauge[slot, BOUND] < np.inf:
            for i in range(k):
                oldest = min(oldest, workspace.heap.stamps[i])
    settings.watch[slot] = oldest


@inlined
def _share_left(rules: Rules, slot: int, live: Live, index: int, now: int, stamps_end: int) -> float:
    """How much of its life a publication has ahead of it, in the slot's window."""
    if rules.window_kind[slot] == UNBOUNDED:
        return 1.0
    spent = now - live.ts[index] if rules.window_kind[slot] == TIME else stamps_end - 1 - live.stamp[index]
    return max(0.0, 1.0 - spent / rules.window_size[slot])


@kernel
def _drop_hopeless(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Let go of the entries behind the target that have too small a chance to enter the top."""
    rules, bands, odds, live = subscribers.rules, subscribers.bands, subscribers.settings.odds, published.live
    scores, items, states, start = bands.score, bands.item, bands.state, bands.head[slot, START]
    to = start + odds.target[slot]
    for at in range(to, start + bands.head[slot, SIZE]):
        n_dominators = states[at] // ONE_DOMINATOR
        share = _share_left(rules, slot, live, items[at] - live.base, steps.now[step], steps.stamps_end[step])
        part = min(int(share * odds.n_shares), odds.n_shares - 1)
        most = odds.ranks[odds.first_rank[slot] + n_dominators * odds.n_shares + part]
        if at - start - n_dominators <= most:
            scores[to], items[to], states[to] = scores[at], items[at], states[at]
            to += 1
    bands.head[slot, SIZE] = to - start


@kernel
def follow_chance(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Keep about as many entries within the bound as have a chance; a bound that lets in too few opens again.

    How far it opens is guessed from the row: as if scores went on to lie as densely as in its second half.
    """
    bands, odds = subscribers.bands, subscribers.settings.odds
    size, start, sign = bands.head[slot, SIZE], bands.head[slot, START], bands.gauge[slot, SIGN]
    target = odds.target[slot]
    n_within = 0
    while n_within < size and sign * bands.score[start + n_within] <= bands.gauge[slot, BOUND]:
        n_within += 1
    if n_within > odds.high[slot]:
        last = start + target - 1
        bands.gauge[slot, BOUND], bands.head[slot, BOUND_ITEM] = sign * bands.score[last], bands.item[last]
        _drop_hopeless(subscribers, published, slot, step, steps, workspace)
    elif n_within < odds.low[slot] and bands.gauge[slot, BOUND] < np.inf:
        bands.gauge[slot, BOUND] = np.inf
        if n_within >= 4:
            worst, middle = sign * bands.score[start + n_within - 1], sign * bands.score[start + n_within // 2 - 1]
            if worst > middle:
                spread = (worst - middle) / (n_within - n_within // 2)
                bands.gauge[slot, BOUND] = worst + spread * (target - n_within)
        bands.head[slot, BOUND_ITEM] = -1


@kernel
def refill(
    subscribers: BandSubscribers, published: Published, slot: int, step: int, steps: Steps, workspace: Workspace
) -> None:
    """Search for a row that is new, or has become too short."""
    settings = subscribers.settings
    if subscribers.bands.gauge[slot, SIGN] == 0.0 or settings.bounded_by == SEARCH or settings.bounded_by == CHANCE:
        _search_store(subscribers, published, slot, step, steps, workspace)
    else:
        _fill_undominated(subscribers, published, slot, step, steps, workspace)
        if settings.bounded_by == RECENT:
            _recent_bound(subscribers, published, slot, step, steps, workspace)
            follow_recent(subscribers, published, slot, step, steps, workspace)
