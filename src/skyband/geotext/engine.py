"""Engines of the geotext family: bands behind an index of places and words, searched in a term store."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from skyband.geotext.ciq import DEEPEST, CiqIndex
from skyband.geotext.earth import OnEarth, on_map
from skyband.geotext.igpt import ALL, MOST_GROUPS, IgptIndex
from skyband.geotext.messages import MessageEngine
from skyband.geotext.postings import PostingIndex
from skyband.geotext.rows import Publications, Subscriptions
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.earth import MAP_DIAGONAL
from skyband.kernels.growth import grown
from skyband.table.argument import check_choice, check_choices, check_integer
from skyband.topk.banded import Banded
from skyband.topk.index import WordIndex
from skyband.topk.kernels.score import Contents, Questions
from skyband.topk.policy import CSkyband, Kmax, Margin, Policy, Sma
from skyband.topk.term_store import TermStore

IndexName = Literal["postings", "igpt", "ciq"]
PolicyName = Literal["margin", "cskyband", "skyband", "kmax"]


def policy_named(name: PolicyName, ratio: float = 0.95, kmax: float = 3.0) -> Policy:
    """A buffer policy by its name in the paper."""
    check_choice("policy", name, PolicyName)
    made: dict[PolicyName, Policy] = {
        "margin": Margin(),
        "cskyband": CSkyband(),
        "skyband": Sma(ratio),
        "kmax": Kmax(kmax),
    }
    return made[name]


class Geotext(MessageEngine, Banded[Subscriptions, Publications]):
    """Top-k by place and words in sliding windows.

    `groups`, `capacity` and `prunings` are those of IGPT, `depth` is that of CIQ.
    """

    first_search_cost = 15_000
    flood = 256
    flood_share = 4.0
    _searched: TermStore

    def __init__(
        self,
        *args: Any,
        index: IndexName,
        policy: PolicyName,
        ratio: float = 0.95,
        kmax: float = 3.0,
        groups: int = 10,
        capacity: int = 1000,
        prunings: Iterable[str] = ALL,
        depth: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(*args, policy=policy_named(policy, ratio, kmax), **options)
        check_choice("index", index, IndexName)
        self._chosen: dict[str, Any] = {
            "index": index,
            "policy": policy,
            "groups": check_integer("groups", groups, 1, MOST_GROUPS),
            "capacity": check_integer("capacity", capacity, 1, 2**31 - 1),
            "prunings": check_choices("prunings", prunings, sorted(ALL)),
            "depth": check_integer("depth", depth, 1, DEEPEST),
        }
        made = self._make_index()
        self._index: WordIndex = OnEarth(made, self._asked_and_said) if self._is_on_earth else made
        # What a snapshot has brought along, less what the index has counted while it was filled.
        self._counted_before = Counter[str]()

    def _options(self) -> dict[str, Any]:
        return self._chosen | asdict(self.policy)

    def _make_index(self) -> WordIndex:
        bounds, chosen = self.settings.bounds, self._chosen
        box = bounds.flat
        if chosen["index"] == "igpt":
            return IgptIndex(box, chosen["capacity"], chosen["groups"], frozenset(chosen["prunings"]))
        if chosen["index"] == "ciq":
            return CiqIndex(box, chosen["depth"])
        return PostingIndex(box[0], box[1], MAP_DIAGONAL if bounds.is_geographic else bounds.diagonal)

    def _asked_and_said(self) -> tuple[Questions, Floats]:
        """What is needed to score messages: what subscriptions ask, and room for words."""
        return self._question_store.questions, self._workspace.said

    def _located(self) -> Contents:
        """The messages as the term_store wants them, on the flat map where they are on Earth."""
        contents = self._opened().contents
        return on_map(contents) if self._is_on_earth else contents

    @property
    def index_counters(self) -> dict[str, int]:
        """What the index has looked at, and what each of its bounds has saved."""
        return {name: n + self._counted_before[name] for name, n in self._index.counters.items()}

    def _work(self) -> dict[str, int]:
        return self.index_counters

    def _count_on(self, counters: dict[str, int], work: dict[str, int]) -> None:
        super()._count_on(counters, work)
        if work:
            self._counted_before = Counter(work)
            self._counted_before.subtract(self._index.counters)

    def memory(self) -> dict[str, int]:
        return super().memory() | {"catalogue": self._searched.n_bytes}

    def _enter(self, slots: Int64s) -> None:
        self._index.add(slots, self._question_store.questions, self._question_store.rules.gate[slots])

    def _widen(self, n_codes: int) -> None:
        if n_codes > len(self._workspace.said):
            self._workspace = self._workspace._replace(said=grown(self._workspace.said, n_codes))

    def _make_searched(self) -> TermStore:
        return TermStore(self.settings.bounds.flat)

    def _make_searchable(self, lo: int, hi: int) -> None:
        store = self._opened()
        self._searched.insert(self._located(), store.base, lo, hi)

    def _forgotten(self, lo: int, hi: int) -> None:
        store = self._opened()
        self._searched.forget(self._located(), store.base, store.base + hi)
        super()._forgotten(lo, hi)

    def check(self) -> None:
        """Assert the invariants of every structure."""
        super().check()
        self._vocabulary.check()
        if self._store is not None:
            store = self._store
            numbers = store.base + np.arange(store.head, store.tail)
            self._searched.check(numbers, self._located(), store.base)
