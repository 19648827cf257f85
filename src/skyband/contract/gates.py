"""Gates: how good a publication must be to be in a top, now and, as members expire, later.

The gate of a subscription at a time t is the k-th best score among the publications that an engine has and that are
live at t. While fewer than k are known to be, it is open. Until t it never becomes wider, whatever arrives, and a
publication with a worse score is in the top at no time up to t. So whoever stands between a publisher and an engine may
hold back what the gate at t refuses, for as long as the time is at most t, and has to keep it: as members expire the
gate widens, and what it lets in then must be handed over before time goes on. A retraction widens gates too, and nobody
can foresee it. docs/contract.md says what is equal then.
"""

from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.intake import Ids, Intake
from skyband.contract.tops import Id
from skyband.table import gate_schema, shorten
from skyband.table.instant import FARTHEST, Instant, one_instant


class GateWatch:
    """Which gates may be other ones than were last told: `told` has those, with NaN where the subscription has gone."""

    def __init__(self, gates: pa.Table) -> None:
        self.told: dict[Id, float] = dict(zip(*(gates[name].to_pylist() for name in gates.column_names), strict=True))
        self._touched: dict[Id, None] = {}

    def touch(self, ids: pa.Array | pa.ChunkedArray) -> None:
        """The gates of these may have changed."""
        self._touched.update(dict.fromkeys(pc.unique(ids).to_pylist()))

    def withdraw(self, ids: pa.Array) -> None:
        """These have gone; one that comes again is news whatever its gate is."""
        self.touch(ids)
        self.told.update((id, float("nan")) for id in ids.to_pylist() if id in self.told)

    def touched(self) -> list[Id]:
        """Those to look at, in the order in which something happened to them."""
        return list(self._touched)

    def renew(self, gates: dict[Id, float]) -> dict[Id, float | None]:
        """Take the gates of those that were touched and are there; answers with what is news, None for who is gone."""
        gone = [id for id in self._touched if id not in gates and id in self.told]
        news: dict[Id, float | None] = dict.fromkeys(gone)
        news |= {id: gate for id, gate in gates.items() if self.told.get(id) != gate}
        for id in gone:
            del self.told[id]
        self.told |= gates
        self._touched.clear()
        return news


class Gated(Intake):
    """What can be asked about gates; a family whose tops have none says so."""

    family: ClassVar[str]
    now: int | None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._watch: GateWatch | None = None

    def gates(self, ids: Ids | None = None, at: Instant | None = None) -> pa.Table:
        """The gates of these subscriptions, or of all in the order they subscribed, as of a time from now on.

        A score as good as the gate passes it. An open gate is infinite: inf where smaller scores are better, and -inf
        where larger ones are. That of a Boolean subscription is its threshold. At a later time than now an engine may
        know fewer than k that will be live although it has stored more, and then says that the gate is open.
        """
        return self._gates(self._asked_for(ids), self._from_now(at))

    def staircase(self, ids: Ids | None = None) -> pa.Table:
        """How these gates, or all, widen as members expire: each row has the time `at` from which on its gate holds.

        The first row of each subscription is as of now, null before the first publication. Whatever arrives makes the
        steps narrower, so that one who has heard of an old staircase refuses nothing that is in a top.
        """
        return self._staircase(self._asked_for(ids))

    def gate_changes(self) -> pa.Table:
        """The gates as of now that are not what they were when this was last asked; null for who was withdrawn.

        The first time that is all of them, and only from then on does an engine note whose gates may have moved.
        """
        if self._watch is None:
            gates = self.gates()
            self._watch = GateWatch(gates)
            return gates
        ids = pa.array(self._watch.touched(), self._id_type("subscriptions id"))
        gates = self._gates(ids.filter(pa.array(self._registered(ids))), self.now)
        news = self._watch.renew(dict(zip(*(gates[name].to_pylist() for name in gates.column_names), strict=True)))
        return pa.table([list(news), list(news.values())], schema=gates.schema)

    def _gates(self, ids: pa.Array | None, at: int | None) -> pa.Table:
        raise self._no_gates()

    def _staircase(self, ids: pa.Array | None) -> pa.Table:
        raise self._no_gates()

    def _no_gates(self) -> ValueError:
        return ValueError(f"Subscriptions of the family {self.family} have no gates; those of window and geotext do.")

    @staticmethod
    def _needs_all(id: object) -> ValueError:
        return ValueError(
            f"The subscription {id!r} has a count window, in which every publication counts, so that nothing may be "
            "held back from it: it has no gate."
        )

    def _gate_schema(self) -> pa.Schema:
        return gate_schema(self._id_type("subscriptions id"))

    def _asked_for(self, ids: Ids | None) -> pa.Array | None:
        return None if ids is None else self._known(ids, collect=False)

    def _from_now(self, at: Instant | None) -> int | None:
        if at is None:
            return self.now
        time = one_instant(at)
        if abs(time) > FARTHEST:
            raise ValueError(f"The time {shorten(time)} is too far away: times lie within ±2**61 microseconds.")
        if self.now is not None and time < self.now:
            raise ValueError(f"Gates are known from now on: it is {self.now} already, and {time} was asked for.")
        return time
