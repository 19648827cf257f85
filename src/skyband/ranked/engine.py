"""What engines of the ranked family share: an event asks for the k best subscriptions; none has a standing answer."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.checked import Given
from skyband.contract.engine import Answer, Engine
from skyband.contract.family import Parse, ReadFew
from skyband.contract.intake import Ids, PythonRows, answer_to_rows
from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.id_list import AnyIds
from skyband.kernels.idmap import IdMap
from skyband.kernels.ragged import owners_of, ranks_of
from skyband.ranked.kernels.fitting import make_rule
from skyband.ranked.kernels.interval_scan import BestSlots
from skyband.ranked.revision import emphasised, revised
from skyband.ranked.rows import UNLIMITED, Publications, Subscriptions, parse_updates
from skyband.ranked.standings import Standings
from skyband.table import LARGEST_K, Parsed, Settings, match_schema, shorten
from skyband.table.answer_rows import AnswerRows, AnswerShape, Numbers, Owned, answer_shape
from skyband.table.argument import check_choice, check_integer, is_number
from skyband.table.settings import MOST_DIMS

Matching = Literal["relaxed", "exact"]
Combination = Literal["sum", "min", "max"]
Fit = Literal["flat", "centre", "share"]
Overlap = Literal["overlap", "inside"]

LARGEST_EMPHASIS = 1e150


class RankedEngine(Engine[Subscriptions, Publications]):
    """The k best-scoring subscriptions for each event.

    *Relaxed* matching takes a subscription if any of its parts is met, *exact* matching if all are. A part that is met
    contributes its weight times its *fit*, and the score is the *combination* of the contributions. Equal scores: the
    larger id first. Weights are multiplied by the *emphasis* of their dimension when they come in, so that engines and
    snapshots hold the products alone.
    """

    family = "ranked"
    modes = ({"k": 3, "matching": "relaxed"}, {"k": 3, "matching": "exact"})
    rare_modes: ClassVar[tuple[dict[str, Any], ...]] = (
        {"k": 2, "combination": "min"},
        {"k": 2, "combination": "max", "fit": "centre"},
        {"k": 2, "fit": "share"},
        {"k": 2, "fit": "centre", "interval": "inside", "matching": "exact"},
        {"k": 2, "fit": "share", "interval": "inside", "emphasis": (0.5, 0.0, 3.0)},
    )

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        k: int = 20,
        matching: Matching = "relaxed",
        combination: Combination = "sum",
        emphasis: Sequence[float] | None = None,
        fit: Fit = "flat",
        interval: Overlap = "overlap",
        dims: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        check_choice("matching", matching, Matching)
        check_choice("combination", combination, Combination)
        check_choice("fit", fit, Fit)
        check_choice("interval", interval, Overlap)
        self.k = check_integer("k", k, 1, LARGEST_K)
        self.matching = matching
        self.combination = combination
        self.fit = fit
        self.interval = interval
        self.emphasis = None if emphasis is None else _checked_emphasis(emphasis)
        self._set_dims(dims)
        self._set_dims(None if self.emphasis is None else len(self.emphasis))

    def _set_dims(self, dims: int | None) -> None:
        if dims is None:
            return
        dims = check_integer("dims", dims, 1, MOST_DIMS)
        if self.settings.dims not in (None, dims):
            raise ValueError(
                f"There are {self.settings.dims} dimensions, and emphasis has a number for each, not {dims}."
            )
        self.settings = self.settings._replace(dims=dims)

    @overload
    def update(self, subscriptions: PythonRows) -> AnswerRows: ...

    @overload
    def update(self, subscriptions: Given) -> pa.Table: ...

    def update(self, subscriptions: Given) -> Answer:
        """Let subscriptions ask for something else from now on; answers with no rows.

        What a row gives, of `lo` with `hi`, `weights` and `budget`, replaces what is registered; what is null stays.
        """
        parsed = self._parse(subscriptions, parse_updates)
        rows = self._admit(parsed, "subscriptions", ~self._registered(parsed.rows.ids), "is not registered")
        if len(rows.ids):
            self._replace(revised(self._asked(rows.ids), rows, self.emphasis))
        return answer_to_rows(subscriptions, self._no_matches())

    def budgets(self, ids: Ids | None = None) -> pa.Table:
        """How often these subscriptions may still be answered with, null for ever; without ids all, by id."""
        rows = self._asked(None if ids is None else self._known(ids, collect=False))
        left = pa.array(rows.budget, mask=rows.budget == UNLIMITED)
        table = pa.table({"id": rows.ids.cast(self._id_type("subscriptions id")), "budget": left})
        return table if ids is not None else table.take(pc.array_sort_indices(rows.ids))

    @abstractmethod
    def _asked(self, ids: pa.Array | None) -> Subscriptions:
        """What these subscriptions, or all, ask for now, with what is left of their budgets."""

    @property
    def _search_name(self) -> str:
        """How it finds the best subscriptions; empty where it looks at all of them."""
        return ""

    def _question_rows(self, ids: pa.Array) -> Subscriptions:
        return self._asked(ids)

    def _evidence(self, asked: Subscriptions) -> Standings:
        rule = make_rule(self.fit, self.interval, self.combination, self.matching)
        return Standings.of(asked, self._asked(None), rule, self.now, self.k, self.name, self._search_name)

    def _replace(self, rows: Subscriptions) -> None:
        """Let registered subscriptions ask for this."""
        self._unsubscribe(rows.ids)
        self._subscribe(rows)

    def _parse(self, source: Given, parse: Parse, read: ReadFew | None = None) -> Parsed[Any]:
        parsed = super()._parse(source, parse, read)
        if isinstance(parsed.rows, Subscriptions) and self.emphasis is not None:
            return parsed._replace(rows=emphasised(parsed.rows, self.emphasis))
        return parsed

    def _learn_dims(self, rows: Any) -> None:
        dims = rows.dims if isinstance(rows, Subscriptions) else rows.points.shape[1]
        if len(rows.ids) and self.settings.dims is None:
            self.settings = self.settings._replace(dims=dims)

    def _ks(self, rows: Publications) -> Int64s:
        """How many subscriptions each event asks for."""
        if len(rows.k) == 1:
            return np.array([int(rows.k[0]) or self.k], np.int64)
        return np.where(rows.k > 0, rows.k, self.k)

    def _shape(self) -> AnswerShape:
        return answer_shape(match_schema, self._id_type("publications id"), self._id_type("subscriptions id"))

    def _no_matches(self) -> AnswerRows:
        return AnswerRows.none(self._shape())

    def _answered(self, events: AnyIds, found: BestSlots, ids: IdMap) -> AnswerRows:
        """What events have found, as rows; `ids` names the slots."""
        event, rank, used = _places(found)
        n = len(event)
        if not n:
            return self._no_matches()
        self._counters["matches"] += n
        columns = (Owned(events, event), ids.named(found.slot[used]), Numbers(found.score[used]), Numbers(rank))
        return AnswerRows(self._shape(), columns, n)

    def _pass_time(self, rows: Publications) -> None:
        if len(rows.ts):
            latest = int(rows.ts.max()) if len(rows.ts) > 1 else int(rows.ts[0])
            self.now = latest if self.now is None else max(self.now, latest)

    def _advance(self, now: int) -> AnswerRows:
        return self._no_matches()

    def _top(self, ids: pa.Array | None) -> pa.Table:
        raise ValueError("Ranked subscriptions have no standing answer: publish events to see whom they reach.")

    def _options(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "matching": self.matching,
            "combination": self.combination,
            "emphasis": self.emphasis,
            "fit": self.fit,
            "interval": self.interval,
        }


def _places(found: BestSlots) -> tuple[Int64s, Int32s, Any]:
    """For each match its event, its rank from 1, and where it was found."""
    if len(found.length) == 1:
        n = int(found.length[0])
        return np.zeros(n, np.int64), np.arange(1, n + 1, dtype=np.int32), slice(0, n)
    event, place = owners_of(found.length), ranks_of(found.length)
    return event, (place + 1).astype(np.int32), found.start[event] + place


def _checked_emphasis(emphasis: Sequence[float]) -> list[float]:
    try:
        plain = [number.as_py() if isinstance(number, pa.Scalar) else number for number in emphasis]
        given = [float(number) for number in plain if is_number(number)]
    except (TypeError, OverflowError):
        plain, given = [None], []
    if len(given) < len(plain):
        raise ValueError(f"Emphasis is a list of numbers, one a dimension, not {shorten(emphasis)}.")
    if not given or not all(0.0 <= number <= LARGEST_EMPHASIS for number in given):
        raise ValueError(f"Emphasis has a number from 0 to 1e150 for each dimension, not {shorten(emphasis)}.")
    return given
