"""Which of several interests a message may reach, all of them at once.

An interest has groups, and a vocabulary: for each of its words the groups that ask for it, with the most that they
weigh it. Groups and words of all interests lie side by side; word w of interest i is at `found[i, w]`, or -1 where
nobody asks for it. `relevance` is zero for all groups before and after.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel

# So that the product of two weights is more than 0.
LEAST = 1e-30


class SaidMessages(NamedTuple):
    """Message m has the words `word[offset[m] : offset[m + 1]]`, numbers of distinct ones, with their weights."""

    offset: Int64s
    word: Int64s
    weight: Floats
    xy: Floats


class WordAskers(NamedTuple):
    """The groups that ask for a word, `group[first[w] : last[w]]`, and the most that any member weighs it."""

    first: Int64s
    last: Int64s
    group: Int32s
    weight: Float32s


class GroupBoxes(NamedTuple):
    """By group: the sides of x, y and alpha, what must be scored, and what must be found in a message at the least."""

    low: Floats
    high: Floats
    needed: Floats
    least: Floats
    diagonal: Floats


class ReachScratch(NamedTuple):
    """Room for the groups that share a word with a message."""

    relevance: Floats
    touched: Int64s


@inlined
def _gap(low: float, high: float, value: float) -> float:
    return max(max(low - value, value - high), 0.0)


@inlined
def _may_reach(boxes: GroupBoxes, group: int, found: float, x: float, y: float, longest: float, slack: float) -> bool:
    """Whether a message in which this was found may score as much as a group needs; NaN rules nothing out."""
    found = min(found, longest)
    if found < boxes.least[group]:
        return False
    low, high = boxes.low, boxes.high
    across, along = _gap(low[group, 0], high[group, 0], x), _gap(low[group, 1], high[group, 1], y)
    near = 1.0 - np.sqrt(across * across + along * along) / boxes.diagonal[group]
    further = near - found
    # The score is linear in alpha, so that the best is at one of its ends.
    one, other = low[group, 2] * further + found, high[group, 2] * further + found
    needed = boxes.needed[group] - slack
    return not (one < needed and other < needed)


@kernel
def reach(
    messages: SaidMessages,
    found: Int64s,
    asking: WordAskers,
    boxes: GroupBoxes,
    longest: float,
    slack: float,
    scratch: ReachScratch,
    reached: Bools,
) -> None:
    """By message and interest, whether it may reach anybody."""
    relevance, touched = scratch.relevance, scratch.touched
    for i in range(len(found)):
        for m in range(len(messages.xy)):
            n, is_reached = 0, False
            for at in range(messages.offset[m], messages.offset[m + 1]):
                word = found[i, messages.word[at]]
                if word < 0 or is_reached:
                    continue
                weight = max(messages.weight[at], LEAST)
                for place in range(asking.first[word], asking.last[word]):
                    group = asking.group[place]
                    if boxes.needed[group] == -np.inf:
                        is_reached = True
                        break
                    if relevance[group] == 0.0:
                        touched[n] = group
                        n += 1
                    relevance[group] += weight * max(asking.weight[place], LEAST)
            for t in range(n):
                group = touched[t]
                if not is_reached:
                    x, y = messages.xy[m, 0], messages.xy[m, 1]
                    is_reached = _may_reach(boxes, group, relevance[group], x, y, longest, slack)
                relevance[group] = 0.0
            reached[m, i] = is_reached
