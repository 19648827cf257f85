"""The contract: a few verbs, batches in, changes out, time as an argument.

An engine is deterministic, does no I/O of its own accord and owns no threads: those that share the work of a verb have
ended when it answers, and answers do not depend on how many there are. Every verb takes anything that
`skyband.table.read_table` reads, or a batch that was checked before, and answers with rows. A batch with a bad row
raises `Rejected` and changes nothing; with `on_error="collect"` the good rows are applied and the bad ones are added to
`rejects`.

Rows and ids of Python are answered with `AnswerRows`, which become an Arrow table when one is needed; tables, frames
and files are answered with Arrow tables.
"""

import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import snapshot
from skyband.contract.checked import Checked, Given
from skyband.contract.explain import Explained
from skyband.contract.family import FAMILIES, names_where
from skyband.contract.gates import Gated
from skyband.contract.handle import show_bytes, show_count, show_window
from skyband.contract.intake import Ids, PythonIds, PythonRows, answer_to_ids, answer_to_rows
from skyband.contract.rows import Batch
from skyband.kernels.array import Bools
from skyband.kernels.crew import MOST_THREADS, all_cores
from skyband.kernels.id_list import AnyIds, IdList, arrow_ids
from skyband.table import LARGEST_K, OnError, Settings, shorten
from skyband.table.answer_rows import AnswerRows, rows_of_answer
from skyband.table.argument import check_choice, check_folder, check_integer, is_data_frame
from skyband.table.instant import FARTHEST, Instant, one_instant

SubscriptionsT = TypeVar("SubscriptionsT", bound=Batch)
PublicationsT = TypeVar("PublicationsT", bound=Batch)
Granularity = Literal["batch", "publication"]
# An Arrow table, or rows that are used like one.
Answer = Any
# What may be taken for a list of batches, and is one.
_ONE_BATCH = (str, bytes, os.PathLike, Mapping, pa.Table, pa.RecordBatch, Checked)


class Engine(Gated, Explained, Generic[SubscriptionsT, PublicationsT]):
    """One way to keep the answers of one family of subscriptions.

    A concrete engine names its `family`, its own `name` and what it is `good_for`, and fills in the hooks that start
    with an underscore; validation, rejects, counters and snapshots are done here, once. An engine that may answer
    otherwise than the oracle says that it is not `exact`, and has tests of its own for what may be wrong. `modes` are
    the options under which the contract suite checks it, and `rare_modes` those that only its long runs try.
    """

    family: ClassVar[str]
    name: ClassVar[str]
    good_for: ClassVar[str]
    exact: ClassVar[bool] = True
    modes: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    rare_modes: ClassVar[tuple[dict[str, Any], ...]] = ()

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        granularity: Granularity = "batch",
        on_error: OnError = "raise",
        threads: int | None = None,
    ) -> None:
        super().__init__(settings, on_error=on_error)
        check_choice("granularity", granularity, Granularity)
        self.granularity = granularity
        # As many as may share the work of a verb: no part of the state, so that a snapshot does not tell of them.
        self.threads = all_cores() if threads is None else check_integer("threads", threads, 1, MOST_THREADS)
        self.now: int | None = None
        self._its = FAMILIES[self.family]

    @overload
    def subscribe(self, subscriptions: PythonRows) -> AnswerRows: ...

    @overload
    def subscribe(self, subscriptions: Given) -> pa.Table: ...

    def subscribe(self, subscriptions: Given) -> Answer:
        """Register standing questions; answers with their first tops, from what is live now."""
        family = self._its
        parsed = self._parse(subscriptions, family.parse_subscriptions, family.read_subscriptions)
        rows = self._admit(parsed, "subscriptions", self._registered(parsed.rows.ids), "is already registered")
        self._learn_dims(rows)
        changes = self._tallied(self._subscribe(rows))
        if self._watch is not None:
            self._watch.touch(arrow_ids(rows.ids))
        return answer_to_rows(subscriptions, changes)

    @overload
    def unsubscribe(self, ids: PythonIds) -> AnswerRows: ...

    @overload
    def unsubscribe(self, ids: Ids) -> pa.Table: ...

    def unsubscribe(self, ids: Ids) -> Answer:
        """Withdraw questions; answers with the leaves that empty their tops."""
        given = self._known(ids)
        changes = self._tallied(self._unsubscribe(given))
        if self._watch is not None:
            self._watch.withdraw(arrow_ids(given))
        return answer_to_ids(ids, changes)

    @overload
    def resize(self, ids: PythonIds, k: int) -> AnswerRows: ...

    @overload
    def resize(self, ids: Ids, k: int) -> pa.Table: ...

    def resize(self, ids: Ids, k: int) -> Answer:
        """Let subscriptions ask for k from now on; answers with what enters and leaves their tops by that.

        What is in the top stays delivered; what had left it counts as new if it comes back.
        """
        k = check_integer("k", k, 1, LARGEST_K)
        known = self._known(ids)
        changes = self._tallied(self._resize(known, k))
        if self._watch is not None:
            self._watch.touch(arrow_ids(known))
        return answer_to_ids(ids, changes)

    @overload
    def publish(self, publications: PythonRows) -> AnswerRows: ...

    @overload
    def publish(self, publications: Given) -> pa.Table: ...

    def publish(self, publications: Given) -> Answer:
        """Take arrivals, and the expiries they cause; answers with how every top changed."""
        family = self._its
        assert family.parse_publications is not None
        parsed = self._parse(publications, family.parse_publications, family.read_publications)
        rows = self._admit(parsed, "publications", self._stored(parsed.rows.ids), "is live already")
        self._learn_dims(rows)
        self._counters["publications"] += len(rows.ids)
        return answer_to_rows(publications, self._tallied(self._publish(rows)))

    @overload
    def retract(self, ids: PythonIds) -> AnswerRows: ...

    @overload
    def retract(self, ids: Ids) -> pa.Table: ...

    def retract(self, ids: Ids) -> Answer:
        """Withdraw publications before they expire; answers with their leaves, and with what enters in their place.

        Lets no time pass. Whoever withdraws cannot know what has expired by now, so ids that no live publication has
        are no error: they are counted as `retracted_late`.
        """
        if not FAMILIES[self.family].has_retractions:
            raise self._no_retractions()
        given = self._publication_ids(ids)
        stored = self._stored(given)
        is_plain = isinstance(given, IdList) and bool(stored.all())
        found = given if is_plain else pc.unique(arrow_ids(given).filter(pa.array(stored)))
        self._counters["retracted"] += len(found)
        self._counters["retracted_late"] += len(given) - len(found)
        return answer_to_ids(ids, self._tallied(self._retract(found)))

    def advance(self, now: Instant) -> AnswerRows:
        """Let time pass without a publication; answers with the changes that the expiries cause."""
        now = one_instant(now)
        if abs(now) > FARTHEST:
            raise ValueError(f"The time {shorten(now)} is too far away: times lie within ±2**61 microseconds.")
        if self.now is not None and now < self.now:
            raise ValueError(f"Time cannot go back: it is {self.now} already, and {now} was asked for.")
        self.now = now
        return rows_of_answer(self._tallied(self._advance(now)))

    def top(self, ids: Ids | None = None) -> pa.Table:
        """The current answers of these subscriptions, or of all in the order they subscribed."""
        return self._top(None if ids is None else self._known(ids, collect=False))

    @property
    def taken(self) -> str:
        """The engine at work: this one, unless it chooses among others."""
        return self.name

    def expect(self, subscriptions: SubscriptionsT) -> None:  # an engine that chooses among others may choose now
        """Get ready for subscriptions, as they were parsed, that will come."""

    def run(self, batches: Iterable[Given]) -> Iterator[Answer]:
        """Publish batches one after another as they come; yields the changes of each before the next is asked for.

        >>> import skyband
        >>> engine = skyband.open("window", "oracle", window="10m")
        >>> _ = engine.subscribe({"id": "ann", "k": 1, "score": "sum", "weights": [1.0]})
        >>> for changes in engine.run([[{"id": i, "ts": i, "point": [x]}] for i, x in enumerate([5.0, 7.0, 6.0])]):
        ...     print(changes["publication"].to_pylist())
        [0]
        [0, 1]
        []
        """
        if isinstance(batches, _ONE_BATCH) or is_data_frame(batches) or not isinstance(batches, Iterable):
            raise ValueError(
                f"run takes batches one after another, such as a list of tables, not a {type(batches).__name__}; "
                "publish takes one batch."
            )
        return (self.publish(batch) for batch in batches)

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part; empty where an engine does not count them."""
        return {}

    def check(self) -> None:  # an engine without invariants of its own has nothing to assert
        """Assert every invariant of the state, as tests do after each action."""

    def snapshot(self, folder: str | Path) -> None:
        """Write the whole state to a new folder of Arrow files; nothing is left behind if that fails."""
        snapshot.write(check_folder(folder), self.family, self.name, self.settings, self._state(), self._save())

    def to_bytes(self) -> bytes:
        """The whole state but the settings, for whoever keeps snapshots elsewhere than in folders."""
        return snapshot.pack(self.family, self.name, self._state(), self._save())

    @classmethod
    def restore(cls, folder: str | Path, *, threads: int | None = None) -> Self:
        """The engine that `snapshot` wrote, ready to go on as if nothing had happened, with so many threads."""
        return cls._restored(*snapshot.read(check_folder(folder), cls.family, cls.name), threads)

    @classmethod
    def from_bytes(cls, data: bytes, settings: Settings, *, threads: int | None = None) -> Self:
        """The engine that `to_bytes` packed, with the settings that it had, and so many threads."""
        return cls._restored(settings, *snapshot.unpack(data, cls.family, cls.name), threads)

    def _state(self) -> dict[str, Any]:
        """What a snapshot says beside settings and tables."""
        return {
            "now": self.now,
            "granularity": self.granularity,
            "on_error": self.on_error,
            "options": self._options(),
            "counters": self.counters,
            "work": self._work(),
            "id_types": {column: str(kind) for column, kind in self._id_types.items()},
        }

    @classmethod
    def _restored(
        cls, settings: Settings, state: dict[str, Any], tables: dict[str, pa.Table], threads: int | None = None
    ) -> Self:
        options = state.get("options", {})
        given = {"granularity": state["granularity"], "on_error": state["on_error"], "threads": threads}
        engine = cls(settings, **given, **options)
        engine.now = state["now"]
        types = {"int64": pa.int64(), "string": pa.string()}
        engine._id_types = {column: types[kind] for column, kind in state["id_types"].items()}
        engine._load(tables)
        engine._count_on(state["counters"], state.get("work", {}))
        return engine

    @property
    @abstractmethod
    def n_subscriptions(self) -> int:
        """How many subscriptions are registered."""

    def _stored(self, ids: AnyIds) -> Bools:
        """For each id, whether a live publication has it; a family whose ids may recur says no."""
        return np.zeros(len(ids), np.bool_)

    @abstractmethod
    def _subscribe(self, rows: SubscriptionsT) -> Answer: ...

    @abstractmethod
    def _unsubscribe(self, ids: AnyIds) -> Answer: ...

    def _resize(self, ids: AnyIds, k: int) -> Answer:
        raise ValueError(f"Subscriptions of the family {self.family} have no k of their own to change.")

    @abstractmethod
    def _publish(self, rows: PublicationsT) -> Answer: ...

    def _retract(self, ids: AnyIds) -> Answer:
        """Withdraw live publications, each once."""
        raise self._no_retractions()

    def _no_retractions(self) -> ValueError:
        with_them = " and ".join(names_where(lambda family: family.has_retractions))
        return ValueError(f"Publications of the family {self.family} cannot be retracted; those of {with_them} can.")

    @abstractmethod
    def _advance(self, now: int) -> Answer: ...

    @abstractmethod
    def _top(self, ids: AnyIds | None) -> pa.Table: ...

    @abstractmethod
    def _save(self) -> dict[str, pa.Table]:
        """The state as Arrow tables, by name."""

    @abstractmethod
    def _load(self, tables: dict[str, pa.Table]) -> None:
        """Take on the state of a newly made engine's twin."""

    def _work(self) -> dict[str, int]:
        """What parts of the engine have counted beside its counters, for a snapshot to keep."""
        return {}

    def _count_on(self, counters: dict[str, int], work: dict[str, int]) -> None:
        """Count on from what a snapshot has kept; one of before has no work, which is then counted anew."""
        self._counters = Counter(counters)

    def _options(self) -> dict[str, Any]:
        """The options of its own that an engine was opened with, for a snapshot to keep."""
        return {}

    @property
    def _kind(self) -> str:
        return f"{self.family} engine {self.name}"

    def _facts(self) -> list[str]:
        facts = [show_count(self.n_subscriptions, "subscription")]
        if FAMILIES[self.family].has_windows:
            facts.append(show_window(self.settings.window))
        memory = self.memory()
        return facts + ([show_bytes(sum(memory.values()))] if memory else [])

    def _tallied(self, changes: Answer) -> Answer:
        if len(changes) and self._its.answers_stand:
            if self._watch is not None:
                self._watch.touch(changes["subscription"])
            counters = self._counters
            for name, n in self._tally(changes).items():
                counters[name] += n
        return changes

    def _tally(self, changes: Answer) -> dict[str, int]:
        """How many changes of each kind there are, and how many deliveries."""
        counted = {found["values"]: found["counts"] for found in pc.value_counts(changes["op"]).to_pylist()}
        return counted | {"delivery": pc.sum(changes["first"]).as_py()}
