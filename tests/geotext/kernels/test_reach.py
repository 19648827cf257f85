"""The kernel that holds messages against all interests says what a loop over messages, interests and groups says."""

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.geotext.kernels.reach import LEAST, GroupBoxes, ReachScratch, SaidMessages, WordAskers, reach

LONGEST, SLACK = 1.5, 1e-9
SMALL = st.sampled_from([0.0, 0.25, 0.5, 1.0, 0.1])
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1e-40])
NEEDS = st.sampled_from([-math.inf, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0])
LEAST_FOUND = st.sampled_from([-1.0, 0.0, 0.3, 0.6])
BOX = st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=3)
# A group: its interest, its box, what it needs and must find, and what it weighs each of three words that it asks for.
GROUP = st.tuples(st.integers(0, 2), BOX, NEEDS, LEAST_FOUND, st.lists(st.none() | WEIGHTS, min_size=3, max_size=3))
MESSAGE = st.tuples(SMALL, SMALL, st.lists(st.tuples(st.integers(0, 2), WEIGHTS), max_size=4))
DIAGONALS = st.sampled_from([0.0, 1.0, 2.0, math.inf])


def naive(groups: list[Any], message: Any, interest: int, diagonal: float) -> bool:
    x, y, words = message
    for its, box, needed, least, asked in groups:
        shared = [(word, weight) for word, weight in words if asked[word] is not None]
        if its != interest or not shared:
            continue
        if needed == -math.inf:
            return True
        found = 0.0
        for word, weight in shared:
            found += max(weight, LEAST) * max(float(np.float32(asked[word])), LEAST)
        found = min(found, LONGEST)
        if found < least:
            continue
        gaps = [max(min(side) - value, value - max(side), 0.0) for side, value in zip(box, (x, y), strict=False)]
        with np.errstate(all="ignore"):
            near = 1.0 - np.float64(math.sqrt(sum(gap * gap for gap in gaps))) / np.float64(diagonal)
            best = [alpha * (near - found) + found for alpha in (min(box[2]), max(box[2]))]
        if not all(score < needed - SLACK for score in best):
            return True
    return False


@given(st.lists(GROUP, max_size=6), st.lists(MESSAGE, max_size=5), DIAGONALS)
def test_like_a_loop(groups: list[Any], messages: list[Any], diagonal: float) -> None:
    n_interests = 3
    posted = [
        [
            (number, asked[word])
            for number, (its, *_, asked) in enumerate(groups)
            if its == i and asked[word] is not None
        ]
        for i in range(n_interests)
        for word in range(3)
    ]
    ends = np.cumsum([0, *map(len, posted)])
    entries = [entry for each in posted for entry in each]
    found = np.array([i if each else -1 for i, each in enumerate(posted)]).reshape(n_interests, 3)
    sides = np.array([box for _, box, *_ in groups]).reshape(len(groups), 3, 2)
    words = [pair for *_, said in messages for pair in said]
    reached = np.empty((len(messages), n_interests), np.bool_)
    scratch = ReachScratch(np.zeros(len(groups)), np.empty(len(groups), np.int64))
    reach(
        SaidMessages(
            np.cumsum([0, *(len(said) for *_, said in messages)]),
            np.array([word for word, _ in words], np.int64),
            np.array([weight for _, weight in words], np.float64),
            np.array([[x, y] for x, y, _ in messages], np.float64).reshape(-1, 2),
        ),
        found,
        WordAskers(
            ends[:-1].copy(),
            ends[1:].copy(),
            np.array([number for number, _ in entries], np.int32),
            np.array([weight for _, weight in entries], np.float32),
        ),
        GroupBoxes(
            sides.min(axis=2),
            sides.max(axis=2),
            np.array([group[2] for group in groups], np.float64),
            np.array([group[3] for group in groups], np.float64),
            np.full(len(groups), diagonal),
        ),
        LONGEST,
        SLACK,
        scratch,
        reached,
    )
    wanted = [[naive(groups, message, i, diagonal) for i in range(n_interests)] for message in messages]
    assert reached.tolist() == wanted
    assert not scratch.relevance.any()
