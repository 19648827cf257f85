"""The way through the leaves of an SFC array, from a key on in the order of the curve."""

from skyband.covering.kernels.curve import Words
from skyband.covering.kernels.sfc import AT, HEIGHT, NODE, ROOT, SFCArray, child_at
from skyband.kernels.compile import kernel

NONE = -1


@kernel
def descend(array: SFCArray, key: Words) -> int:
    """The leaf where a key would be, were it first among its equals; the way there is left in `path`."""
    inners, path, node = array.inners, array.path, int(array.shape[ROOT])
    for level in range(array.shape[HEIGHT], 0, -1):
        at = child_at(inners, node, key, -1)
        path[NODE, level], path[AT, level] = node, at
        node = int(inners.child[node, at])
    return node


@kernel
def next_leaf(array: SFCArray) -> int:
    """The leaf after that at the end of the path, which leads to it then; NONE after the last.

    The key of its separator is left in `pair`: that of the entry where the new path leaves the old one.
    """
    inners, path, height = array.inners, array.path, array.shape[HEIGHT]
    level = 1
    while level <= height and path[AT, level] + 1 >= inners.length[path[NODE, level]]:
        level += 1
    if level > height:
        return NONE
    node, at = path[NODE, level], path[AT, level] + 1
    path[AT, level] = at
    for word in range(len(array.pair)):
        array.pair[word] = inners.key[node, at, word]
    node = int(inners.child[node, at])
    for below in range(level - 1, 0, -1):
        path[NODE, below], path[AT, below] = node, 0
        node = int(inners.child[node, 0])
    return node
