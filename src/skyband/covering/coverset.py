"""The cover set of a broker: subscriptions, and the uncovered ones among them, which its routing table has to hold.

A subscription is covered if another one encloses it. With an exact search the uncovered ones are just those which none
covers, and of several equal ones the earliest stands for all. With the paper's approximate search some more may stand
among them, and any of several equal ones, but whatever is covered hangs below one that truly covers it.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pyarrow as pa

from skyband.contract import Given, Ids, Intake, snapshot
from skyband.contract.handle import show_bytes, show_count
from skyband.contract.tops import Id
from skyband.covering.enclosure import CoverExplanation, sides
from skyband.covering.forest import Forest
from skyband.covering.grid import WHOLE, Domain, check_bits, check_domain, match_nothing, to_points
from skyband.covering.kernels.corners import NONE
from skyband.covering.roots import Roots
from skyband.covering.rows import Subscriptions, parse_subscriptions
from skyband.covering.search import Corners, Greedy, Jumps, Placed, Search
from skyband.kernels.array import Bools, Int64s
from skyband.kernels.idmap import IdMap
from skyband.table import OnError, Parsed, Reject, shorten
from skyband.table.argument import check_choice, check_folder, check_integer, check_number, no_option

SearchName = Literal["corners", "jumps", "greedy"]
CurveName = Literal["z", "hilbert"]

FAMILY, NAME = "covering", "coverset"
# From so many new members on, as a share of those there are, the curve is packed anew.
SHARE = 0.25


class CoverSet(Intake):
    """Boxes by id, each uncovered or below one that covers it.

    `search` is "corners" (exact, the fastest), "jumps" (exact) or "greedy" (the paper's: it searches the share
    1 - `epsilon` of the region where coverings lie, at least). `domains` says which values attributes may have, one for
    all or one for each; without it a grid is fitted to the boxes. `bits` is the number of bits of a coordinate. `curve`
    is "z" or "hilbert", which only the search by corners can take.
    """

    def __init__(
        self,
        *,
        search: SearchName = "corners",
        epsilon: float | None = None,
        bits: int | None = None,
        curve: CurveName | None = None,
        domains: Domain | Sequence[Domain] | None = None,
        on_error: OnError = "raise",
        **unknown: object,
    ) -> None:
        for name in unknown:
            raise no_option("CoverSet", name, ("search", "epsilon", "bits", "curve", "domains", "on_error"))
        super().__init__(on_error=on_error)
        self.search = search
        self.epsilon = _check_search(search, epsilon)
        self.curve = _check_curve(search, curve)
        self._bits = None if bits is None else check_integer("bits", bits, 1)
        self._domains = _check_domains(domains)
        self._ids = IdMap()
        self._forest = Forest()
        self._free: list[int] = []
        self._roots: Roots | None = None
        self._search: Search | None = None
        # How much of what the search has cost is in the counters.
        self._cost = 0

    def __len__(self) -> int:
        return self._ids.size

    @property
    def n_uncovered(self) -> int:
        """How many subscriptions a routing table has to hold."""
        return self._forest.n_roots

    def add(self, subscriptions: Given) -> pa.Table:
        """Register boxes; tells for each which one covers it, and which earlier ones it covers that were uncovered."""
        parsed = self._checked(self._parse(subscriptions, parse_subscriptions))
        rows = self._admit(parsed, "subscriptions", self._registered(parsed.rows.ids), "is already registered")
        self._learn_dims(rows)
        n = len(rows.ids)
        slots, nothing = self._take_slots(n), np.zeros(0, np.int64)
        if not n:
            return self._told(rows.ids, slots, slots, Placed(nothing, nothing, nothing))
        self._ids.add(rows.ids, slots)
        return self._told(rows.ids, slots, *self._place_new(slots, rows))

    def remove(self, ids: Ids) -> pa.Table:
        """Withdraw subscriptions; tells which ones are uncovered now and were not before, in order of arrival."""
        slots = self._ids.find(self._known(ids))
        roots = np.array([slot for slot in slots.tolist() if self._forest.is_root(slot)], np.int64)
        orphans: set[int] = set()
        for slot in slots.tolist():
            orphans.update(self._forest.uproot(slot))
            orphans.discard(slot)
        if len(roots):
            self._known_roots.remove(roots)
            if self._known_roots.is_sparse(self._forest.n_roots):
                self._known_roots.rebuild(self._forest.roots())
        promoted = self._place_again(np.array(sorted(orphans, key=self._forest.turn), np.int64))
        answer = pa.table({"subscription": self._named(promoted)})
        self._ids.remove(slots)
        self._free += slots.tolist()[::-1]
        self._count(removed=len(slots), promoted=len(promoted))
        return answer

    def find(self, subscriptions: Given) -> pa.Table:
        """Which uncovered member covers each of these boxes, or null; they are not added, and may have any ids."""
        parsed = self._checked(self._parse(subscriptions, parse_subscriptions))
        self._handle(parsed.rejects, "subscriptions")
        rows = parsed.rows
        found = np.full(len(rows.ids), NONE)
        if len(rows.ids) and self._search is not None:
            found = self._search.find(to_points(self._known_roots.domains, rows.lo, rows.hi))
        self._count(asked=len(rows.ids))
        return pa.table({"subscription": rows.ids, "covered_by": self._named(found)})

    def uncovered(self) -> pa.Table:
        """The uncovered subscriptions in order of arrival; a range is open where it reaches an end of its domain."""
        slots = self._forest.roots()
        dims = self.settings.dims or 1
        points = self._known_roots.points[slots] if self._roots else np.zeros((0, 2 * dims))
        sides = {"lo": -points[:, 0::2] + 0.0, "hi": points[:, 1::2]}
        starts = np.arange(len(slots) + 1, dtype=np.int32) * dims
        lists = {name: pa.ListArray.from_arrays(starts, pa.array(side.ravel())) for name, side in sides.items()}
        return pa.table({"id": self._named(slots)} | lists)

    def covered_by(self, ids: Ids | None = None) -> pa.Table:
        """Which member each of these hangs below, or null for an uncovered one; of all in order of arrival."""
        slots = self._forest.members() if ids is None else self._ids.find(self._known(ids))
        parents = self._forest.parents(slots) if len(slots) else slots
        return pa.table({"subscription": self._named(slots), "covered_by": self._named(parents)})

    def explain(self, subscription: Id, other: Id) -> CoverExplanation:
        """Whether another member covers a subscription, and if not, which sides stick out and by how much."""
        own, its = (self._one(id) for id in (subscription, other))
        conditions = sides(self._known_roots.points[own], self._known_roots.points[its])
        (above,) = self._named(self._forest.parents(np.array([own]))).to_pylist()
        names = self._named(np.array([own, its])).to_pylist()
        return CoverExplanation(
            subscription=names[0],
            other=names[1],
            covers=all(one.met for one in conditions),
            covered_by=above,
            conditions=conditions,
        )

    def _one(self, id: Id) -> int:
        """The slot of one member."""
        known = self._known(id, collect=False)
        if len(known) != 1:
            raise ValueError(f"One subscription is explained at a time, not {len(known)}.")
        return int(self._ids.find(known)[0])

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part."""
        sizes = {"ids": self._ids.n_bytes, "forest": self._forest.memory()}
        if self._roots is not None:
            sizes |= {"points": self._roots.n_bytes, "curve": self._roots.curve.n_bytes}
        return sizes

    def check(self) -> None:
        """Assert every invariant of the state."""
        self._forest.check()
        members = self._forest.members()
        assert len(members) == self._ids.size
        if self._roots is None:
            assert not len(members)
            return
        self._roots.check(self._forest.roots())
        parents, points = self._forest.parents(members), self._roots.points
        below = members[parents >= 0]
        assert (points[parents[parents >= 0]] >= points[below]).all()

    def snapshot(self, folder: str | Path) -> None:
        """Write the whole state to a new folder of Arrow files; nothing is left behind if that fails."""
        state = {
            "on_error": self.on_error,
            "options": {"search": self.search, "bits": self._bits, "curve": self.curve}
            | ({"epsilon": self.epsilon} if self.search == "greedy" else {}),
            "domains": self._domains,
            "counters": dict(self._counters),
            "id_types": {column: str(kind) for column, kind in self._id_types.items()},
        }
        members = self._forest.members()
        table = self.covered_by()
        if self._roots is not None:
            for j, column in enumerate(self._roots.points[members].T):
                table = table.append_column(f"x{j}", pa.array(column))
        snapshot.write(check_folder(folder), FAMILY, NAME, self.settings, state, {"members": table})

    @classmethod
    def restore(cls, folder: str | Path) -> Self:
        """The cover set that `snapshot` wrote, ready to go on as if nothing had happened."""
        settings, state, tables = snapshot.read(check_folder(folder), FAMILY, NAME)
        domains = state["domains"]
        if domains is not None:
            domains = Domain(*domains) if not isinstance(domains[0], list) else [Domain(*each) for each in domains]
        cover = cls(**state["options"], domains=domains, on_error=state["on_error"])
        cover.settings = settings
        types = {"int64": pa.int64(), "string": pa.string()}
        cover._id_types = {column: types[kind] for column, kind in state["id_types"].items()}
        cover._load(tables["members"].combine_chunks())
        cover._counters = Counter(state["counters"])
        return cover

    def _load(self, members: pa.Table) -> None:
        if not len(members):
            return
        roots, ids = self._known_roots, members["subscription"].combine_chunks()
        slots = self._take_slots(len(ids))
        self._ids.add(ids, slots)
        roots.store(slots, np.column_stack([members[f"x{j}"].to_numpy() for j in range(roots.points.shape[1])]))
        parents = members["covered_by"].combine_chunks()
        is_root = parents.is_null().to_numpy(zero_copy_only=False)
        self._forest.admit_all(slots)
        self._forest.plant_all(slots[is_root])
        self._forest.attach_all(slots[~is_root], self._ids.find(parents.drop_null()))
        roots.refit(slots, slots[is_root])

    def _facts(self) -> list[str]:
        several = f"{show_count(len(self), 'subscription')}, {self.n_uncovered:,} uncovered"
        return [f"search {self.search}", several, show_bytes(sum(self.memory().values()))]

    def _registered(self, ids: pa.Array) -> Bools:
        return self._ids.find(ids) >= 0

    @property
    def _known_roots(self) -> Roots:
        """The roots; made when the number of attributes is known."""
        if self._roots is None:
            dims = self.settings.dims
            assert dims is not None
            domains = self._domains_of(dims)
            self._roots = Roots(domains, check_bits(2 * dims, self._bits), self.curve == "hilbert")
            self._search = (
                Greedy(self._roots, self.epsilon)
                if self.search == "greedy"
                else {"corners": Corners, "jumps": Jumps}[self.search](self._roots)
            )
        return self._roots

    def _domains_of(self, dims: int) -> tuple[Domain, ...]:
        if self._domains is None or isinstance(self._domains, Domain):
            return (self._domains or WHOLE,) * dims
        if len(self._domains) != dims:
            raise ValueError(f"There are {len(self._domains)} domains, and the subscriptions have {dims} attributes.")
        return tuple(self._domains)

    def _checked(self, parsed: Parsed[Subscriptions]) -> Parsed[Subscriptions]:
        """Without the boxes that no message can lie in."""
        rows, dims = parsed.rows, parsed.rows.lo.shape[1] if len(parsed.rows.ids) else 0
        if dims:
            check_bits(2 * dims, self._bits)
        bad = match_nothing(self._domains_of(dims), rows.lo, rows.hi) if dims else np.zeros(0, np.bool_)
        if not bad.any():
            return parsed
        why = "lies outside of the domain, so that no message can match it"
        rejects = [Reject(int(parsed.kept[i]), "lo", str(rows.lo[i].tolist()), why) for i in np.flatnonzero(bad)]
        good = Subscriptions(rows.ids.filter(pa.array(~bad)), rows.lo[~bad], rows.hi[~bad])
        return Parsed(good, parsed.kept[~bad], [*parsed.rejects, *rejects])

    def _place_new(self, slots: Int64s, rows: Subscriptions) -> tuple[Int64s, Placed]:
        """Place new members; tells the root above each, or NONE, and what became of other roots."""
        roots, forest = self._known_roots, self._forest
        roots.store(slots, to_points(roots.domains, rows.lo, rows.hi))
        forest.admit_all(slots)
        if roots.is_outgrown(len(self)):
            roots.refit(forest.members(), forest.standing())
        n_before = forest.n_roots
        order, placed = self._settle(slots)
        for demoted, above in zip(placed.demoted.tolist(), placed.above.tolist(), strict=True):
            forest.demote(demoted, above)
        if forest.n_roots - n_before > SHARE * n_before or roots.is_sparse(forest.n_roots):
            roots.rebuild(forest.roots())
        n_covered = int((placed.parents != NONE).sum())
        self._count(added=len(slots), covered=n_covered, demoted=len(placed.demoted))
        covered_by = np.empty(len(slots), np.int64)
        covered_by[np.argsort(slots)] = placed.parents[np.argsort(order)]
        return covered_by, placed

    def _place_again(self, loose: Int64s) -> Int64s:
        """Place members that have lost what covered them; answers with the roots among them, in order of arrival."""
        if not len(loose):
            return loose
        # An approximate search may find roots that they cover, but whoever withdraws something is told what is new.
        order, placed = self._settle(loose, demoting=False)
        promoted: Int64s = order[placed.parents == NONE]
        return np.take(promoted, np.argsort(self._forest.turns(promoted)))

    def _settle(self, loose: Int64s, demoting: bool = True) -> tuple[Int64s, Placed]:
        """Place loose members, which are in order of arrival; tells the order they were placed in, and where."""
        roots, forest = self._known_roots, self._forest
        assert self._search is not None
        order = roots.descending(loose)
        placed = self._search.place(order, demoting)
        is_root = placed.parents == NONE
        forest.plant_all(order[is_root])
        forest.attach_all(order[~is_root], placed.parents[~is_root])
        return order, placed

    def _told(self, ids: pa.Array, slots: Int64s, covered_by: Int64s, placed: Placed) -> pa.Table:
        """The answer to an addition; what a subscription covers comes in order of arrival."""
        turns = self._forest.turns
        order = np.lexsort((turns(placed.demoted), turns(placed.above)))
        starts = np.searchsorted(turns(placed.above)[order], turns(slots))
        offsets = pa.array(np.append(starts, len(order)).astype(np.int32))
        now_covers = pa.ListArray.from_arrays(offsets, self._named(placed.demoted[order]))
        return pa.table({"subscription": ids, "covered_by": self._named(covered_by), "now_covers": now_covers})

    def _named(self, slots: Int64s) -> pa.Array:
        """The ids of members, null for NONE."""
        kind, named = self._id_type("subscriptions id"), np.asarray(slots) >= 0
        if not named.any():
            return pa.nulls(len(slots), kind)
        ids = self._ids.ids(slots[named])
        places = np.full(len(slots), -1)
        places[named] = np.arange(int(named.sum()))
        return ids.take(pa.array(places, mask=~named))

    def _take_slots(self, n: int) -> Int64s:
        reused = [self._free.pop() for _ in range(min(n, len(self._free)))]
        start = len(self) + len(self._free) + len(reused)
        return np.array([*reused, *range(start, start + n - len(reused))], np.int64)

    def _count(self, **more: int) -> None:
        self._counters.update(more)
        if self._search is not None:
            cost = self._search.cost
            self._counters[self._search.counter] += cost - self._cost
            self._cost = cost


def _check_search(search: str, epsilon: float | None) -> float:
    check_choice("search", search, SearchName)
    if search != "greedy" and epsilon is not None:
        raise ValueError(f"The search {search} is exact: epsilon is an option of the greedy search.")
    return 0.0 if epsilon is None else check_number("epsilon", epsilon, 0.0, 1.0, below=True)


def _check_curve(search: SearchName, curve: CurveName | None) -> CurveName:
    if curve is None:
        return "hilbert" if search == "corners" else "z"
    check_choice("curve", curve, CurveName)
    if curve == "hilbert" and search != "corners":
        raise ValueError(f"The search {search} goes along the Z curve; only the search by corners takes another.")
    return curve


def _check_domains(domains: Domain | Sequence[Domain] | None) -> Domain | tuple[Domain, ...] | None:
    if domains is None:
        return None
    if not isinstance(domains, list | tuple):
        raise ValueError(f"domains takes a skyband.Domain(low, high), or a list of them, not {shorten(domains)}.")
    for domain in [domains] if isinstance(domains, Domain) else domains:
        if not isinstance(domain, Domain):
            raise ValueError(f"domains takes a skyband.Domain(low, high), or a list of them, not {domains!r}.")
    if isinstance(domains, Domain):
        return check_domain(domains)
    return tuple(check_domain(domain) for domain in domains)
