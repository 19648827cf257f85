"""Searches of what is stored, by the space it is searched in: an engine compiles those of its own space alone."""

from collections.abc import Callable
from typing import NamedTuple

from skyband.kernels.compile import by_type, kernel
from skyband.kernels.heap import Heap
from skyband.topk.kernels.cell_store import CellPool
from skyband.topk.kernels.cpm import Frontier, StoreQuery, search
from skyband.topk.kernels.scan import Published
from skyband.topk.kernels.score import Questions
from skyband.topk.kernels.term_bound import TermSearch
from skyband.topk.kernels.term_search import search_terms
from skyband.topk.kernels.term_store import TermTrees


class CellSpace(NamedTuple):
    """Points by cell, and working space for one search."""

    cell_pool: CellPool
    frontier: Frontier


class TermSpace(NamedTuple):
    """Messages by word and place, and working space for one search."""

    trees: TermTrees
    term_search: TermSearch


@kernel
def _seek_by_cell(space: CellSpace, questions: Questions, published: Published, ask: StoreQuery, heap: Heap) -> int:
    return search(space.cell_pool, questions, published, ask, space.frontier, heap)


@kernel
def _seek_by_term(space: TermSpace, questions: Questions, published: Published, ask: StoreQuery, heap: Heap) -> int:
    return search_terms(space.trees, questions, published, ask, space.term_search, heap)


# Put the best that is asked for into the heap; returns how many there are.
seek: Callable[..., int] = by_type({CellSpace: _seek_by_cell, TermSpace: _seek_by_term})
