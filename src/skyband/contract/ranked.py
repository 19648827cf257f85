"""What engines of the ranked family share: an event asks for the k best subscriptions; none has a standing answer."""

from typing import Any, Literal

import pyarrow as pa

from skyband.contract.engine import Engine
from skyband.model import match_schema
from skyband.model.ranked import Publications, Subscriptions

Matching = Literal["relaxed", "exact"]


class RankedEngine(Engine[Subscriptions, Publications]):
    """The k best-scoring subscriptions for each event.

    *Relaxed* matching takes a subscription if any dimension matches, *exact* matching if all do; the score is the sum
    of the weights of the dimensions that match. Equal scores: the larger id first.
    """

    family = "ranked"
    modes = ({"k": 3, "matching": "relaxed"}, {"k": 3, "matching": "exact"})

    def __init__(self, *args: Any, k: int = 20, matching: Matching = "relaxed", **options: Any) -> None:
        super().__init__(*args, **options)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}.")
        if matching not in ("relaxed", "exact"):
            raise ValueError(f"Matching is relaxed or exact, not {matching!r}.")
        self.k = k
        self.matching = matching

    def _schema(self) -> pa.Schema:
        return match_schema(self._id_type("publications id"), self._id_type("subscriptions id"))

    def _pass_time(self, rows: Publications) -> None:
        if len(rows.ts):
            latest = int(rows.ts.max())
            self.now = latest if self.now is None else max(self.now, latest)

    def _advance(self, now: int) -> pa.Table:
        return self._schema().empty_table()

    def _top(self, ids: pa.Array | None) -> pa.Table:
        raise ValueError("Ranked subscriptions have no standing answer: publish events to see whom they reach.")

    def _options(self) -> dict[str, Any]:
        return {"k": self.k, "matching": self.matching}
