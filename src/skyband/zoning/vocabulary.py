"""The words of groups: for each word the groups that ask for it, and the most that any of their members weighs it.

A word is held as a key, its digest. Where there are more than `MOST_KEYS` words, keys are the leading bits of digests,
and words with the same ones stand for each other: what a group asks for is always found, and some of what it does not.
"""

from typing import Any, NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Floats, Int64s, UInt16s, UInt64s
from skyband.kernels.ragged import owners_of
from skyband.zoning.digest import digests, digests_of_words

BITS = 17
MOST_KEYS = 2**BITS


class GroupWords(NamedTuple):
    """Ascending `keys`, which are digests without their last `shift` bits.

    The groups that ask for key i are `group[starts[i] : starts[i + 1]]`, and so are their weights, rounded up.
    """

    shift: int
    keys: UInt64s
    starts: Int64s
    group: UInt16s
    weight: Float32s


class SaidWords(NamedTuple):
    """The words of publications that some group asks for: the publication, the key and the weight of each."""

    row: Int64s
    key: Int64s
    weight: Floats

    def take(self, chosen: Int64s | slice) -> "SaidWords":
        """The chosen ones."""
        return SaidWords(self.row[chosen], self.key[chosen], self.weight[chosen])


def no_words() -> GroupWords:
    """The vocabulary of nobody."""
    nothing = np.zeros(0, np.uint64)
    return GroupWords(0, nothing, np.zeros(1, np.int64), nothing.astype(np.uint16), nothing.astype(np.float32))


def vocabulary(terms: Any, weights: Floats, group: Int64s) -> GroupWords:
    """The words that groups ask for, given one by one."""
    rounded = np.nextafter(weights.astype(np.float32), np.float32(np.inf))
    return _gathered(0, digests_of_words(terms), group.astype(np.uint16), rounded)


def renumbered(words: GroupWords, of: Int64s) -> GroupWords:
    """The same words when group g has become group `of[g]`."""
    return _gathered(words.shift, _key_of_each(words), of[words.group].astype(np.uint16), words.weight)


def joined(one: GroupWords, other: GroupWords) -> GroupWords:
    """The words of both, whose groups are numbered alike."""
    shift = max(one.shift, other.shift)
    keys = [_key_of_each(words) >> np.uint64(shift - words.shift) for words in (one, other)]
    group, weight = np.concatenate([one.group, other.group]), np.concatenate([one.weight, other.weight])
    return _gathered(shift, np.concatenate(keys), group, weight)


def _key_of_each(words: GroupWords) -> UInt64s:
    return np.repeat(words.keys, np.diff(words.starts))


def _gathered(shift: int, keys: UInt64s, group: UInt16s, weight: Float32s) -> GroupWords:
    """One entry for each key and group, keys being shortened if there are too many."""
    order = np.lexsort((group, keys))
    keys, group, weight = keys[order], group[order], weight[order]
    if np.count_nonzero(keys[1:] != keys[:-1]) >= MOST_KEYS:
        # Groups of one key are no longer in order then.
        return _gathered(64 - BITS, keys >> np.uint64(64 - BITS - shift), group, weight)
    is_new_key = np.diff(keys, prepend=~keys[:1]) != 0
    is_new = is_new_key | (np.diff(group, prepend=group[:1]) != 0)
    firsts = np.flatnonzero(is_new)
    starts = np.append(np.flatnonzero(is_new_key[firsts]), len(firsts))
    weight = np.maximum.reduceat(weight, firsts) if len(firsts) else weight
    return GroupWords(shift, keys[is_new_key], starts, group[firsts], weight)


def said(words: GroupWords, terms: Any, offsets: Int64s, weights: Floats) -> SaidWords:
    """What publications say of a vocabulary; rows ascend."""
    if not len(words.keys) or not len(terms):
        return SaidWords(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    distinct = terms.dictionary_encode()
    keys = digests(distinct.dictionary) >> np.uint64(words.shift)
    at = np.minimum(np.searchsorted(words.keys, keys), len(words.keys) - 1)
    at[words.keys[at] != keys] = -1
    key = at[distinct.indices.to_numpy(zero_copy_only=False)]
    known = np.flatnonzero(key >= 0)
    row = owners_of(np.diff(offsets))
    return SaidWords(row[known], key[known], weights[known])
