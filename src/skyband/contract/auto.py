"""The engine that is taken when none is named: whichever of its family suits the number of its subscriptions.

Brute force is the quickest for a few subscriptions, and has the least to compile; from some number on an index is. So
an engine of this kind begins with the one and goes over to the other, once, when that number is exceeded: what is
stored and who was told what goes along, and no answer tells which of them gave it. `skyband bench auto` measures both
beside each other.
"""

from abc import abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from skyband.contract.checked import Given
from skyband.contract.engine import Engine, Granularity
from skyband.contract.family import Parse, ReadFew
from skyband.contract.registry import AnyEngine, find_engine
from skyband.kernels.array import Bools
from skyband.kernels.id_list import AnyIds
from skyband.table import OnError, Reject, Settings
from skyband.table.argument import check_integer
from skyband.table.sieve import Parsed

LARGEST = 2**62


class Auto(Engine[Any, Any]):
    """Brute force up to `most_scanned` subscriptions, an index from then on.

    A family names its index as `many`, and says in `_most_scanned` up to how many subscriptions brute force is as good.
    Options go to both. `taken` is the name of the engine at work, and what only that has can be read here as well.
    """

    name = "auto"
    few: ClassVar[str] = "scan"
    many: ClassVar[str]
    modes: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"most_scanned": 2})

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        granularity: Granularity = "batch",
        on_error: OnError = "raise",
        threads: int | None = None,
        most_scanned: int | None = None,
        **options: Any,
    ) -> None:
        self._given = options
        self.most_scanned = None if most_scanned is None else check_integer("most_scanned", most_scanned, 0, LARGEST)
        few = find_engine(self.family, self.few)
        self._engine: AnyEngine = few(settings, granularity=granularity, on_error=on_error, threads=threads, **options)
        # Some engines know more of the settings by now.
        super().__init__(self._engine.settings, granularity=granularity, on_error=on_error, threads=threads)

    @abstractmethod
    def _most_scanned(self, rows: Any) -> int:
        """Up to how many subscriptions brute force is as quick as the index, if all are like these."""

    @property
    def taken(self) -> str:
        """The engine at work."""
        return self._engine.name

    if not TYPE_CHECKING:  # it would hide every misspelt name from a type checker

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not self.__dict__:
                return super().__getattr__(name)
            return getattr(self._engine, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._engine)})

    def _facts(self) -> list[str]:
        n_subscriptions, *more = super()._facts()
        return [n_subscriptions, f"by {self.taken}", *more]

    def _go_over(self) -> None:
        before = self._engine
        many = find_engine(self.family, self.many)
        self._engine = many(
            before.settings,
            granularity=before.granularity,
            on_error=before.on_error,
            threads=before.threads,
            **self._given,
        )
        self.now, self._id_types, self.rejects = before.now, before._id_types, before.rejects
        self._engine._load(before._save())
        self._counters = before._counters

    # What is known of the stream is kept by the engine at work alone.

    @property
    def settings(self) -> Settings:
        """What rows are read against."""
        return self._engine.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._engine.settings = settings

    @property
    def now(self) -> int | None:
        """The time of the latest publication, or a later one that time was advanced to."""
        return self._engine.now

    @now.setter
    def now(self, now: int | None) -> None:
        self._engine.now = now

    @property
    def granularity(self) -> Granularity:
        """What changes are netted over."""
        return self._engine.granularity

    @granularity.setter
    def granularity(self, granularity: Granularity) -> None:
        self._engine.granularity = granularity

    @property
    def threads(self) -> int:
        """Among how many threads the work of a verb is divided."""
        return self._engine.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._engine.threads = threads

    @property
    def on_error(self) -> OnError:
        """What becomes of rows that cannot be taken."""
        return self._engine.on_error

    @on_error.setter
    def on_error(self, on_error: OnError) -> None:
        self._engine.on_error = on_error

    @property
    def rejects(self) -> list[Reject]:
        """The rows that were refused, with `on_error="collect"`."""
        return self._engine.rejects

    @rejects.setter
    def rejects(self, rejects: list[Reject]) -> None:
        self._engine.rejects = rejects

    @property
    def counters(self) -> dict[str, int]:
        """What the work has cost so far, by name."""
        return self._engine.counters

    @property
    def _id_types(self) -> dict[str, pa.DataType]:
        return self._engine._id_types

    @_id_types.setter
    def _id_types(self, types: dict[str, pa.DataType]) -> None:
        self._engine._id_types = types

    @property
    def _counters(self) -> Counter[str]:
        return self._engine._counters

    @_counters.setter
    def _counters(self, counters: Counter[str]) -> None:
        self._engine._counters = counters

    @property
    def n_subscriptions(self) -> int:
        return self._engine.n_subscriptions

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part."""
        return self._engine.memory()

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._engine.check()

    @property
    def _takes_id_lists(self) -> bool:
        return self._engine._takes_id_lists

    def _registered(self, ids: AnyIds) -> Bools:
        return self._engine._registered(ids)

    def _parse(self, source: Given, parse: Parse, read: ReadFew | None = None) -> Parsed[Any]:
        return self._engine._parse(source, parse, read)

    def _learn_dims(self, rows: Any) -> None:
        self._engine._learn_dims(rows)

    def _stored(self, ids: AnyIds) -> Bools:
        return self._engine._stored(ids)

    def expect(self, subscriptions: Any) -> None:
        """Go over to the index if there will be too many."""
        if self.taken != self.few or not len(subscriptions.ids):
            return
        most = self._most_scanned(subscriptions) if self.most_scanned is None else self.most_scanned
        if self.n_subscriptions + len(subscriptions.ids) > most:
            self._go_over()

    def _subscribe(self, rows: Any) -> Any:
        self.expect(rows)
        return self._engine._subscribe(rows)

    def _unsubscribe(self, ids: AnyIds) -> Any:
        return self._engine._unsubscribe(ids)

    def _resize(self, ids: AnyIds, k: int) -> Any:
        return self._engine._resize(ids, k)

    def _publish(self, rows: Any) -> Any:
        return self._engine._publish(rows)

    def _retract(self, ids: AnyIds) -> Any:
        return self._engine._retract(ids)

    def _advance(self, now: int) -> Any:
        return self._engine._advance(now)

    def _tally(self, changes: Any) -> dict[str, int]:
        return self._engine._tally(changes)

    def _top(self, ids: pa.Array | None) -> pa.Table:
        return self._engine._top(ids)

    def _question_rows(self, ids: pa.Array) -> Any:
        return self._engine._question_rows(ids)

    def _evidence(self, asked: Any) -> Any:
        return self._engine._evidence(asked)

    def _gates(self, ids: pa.Array | None, at: int | None) -> pa.Table:
        return self._engine._gates(ids, at)

    def _staircase(self, ids: pa.Array | None) -> pa.Table:
        return self._engine._staircase(ids)

    def _save(self) -> dict[str, pa.Table]:
        return self._engine._save() | {"taken": pa.table({"engine": [self.taken]})}

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if tables["taken"]["engine"][0].as_py() != self.few:
            self._go_over()
        self._engine._load({name: table for name, table in tables.items() if name != "taken"})

    def _work(self) -> dict[str, int]:
        return self._engine._work()

    def _count_on(self, counters: dict[str, int], work: dict[str, int]) -> None:
        self._engine._count_on(counters, work)

    def _options(self) -> dict[str, Any]:
        own = {} if self.most_scanned is None else {"most_scanned": self.most_scanned}
        checked = self._engine._options()
        return own | {name: checked.get(name, given) for name, given in self._given.items()}
