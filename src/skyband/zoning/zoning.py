"""Which zone a subscription belongs to: fitted to a sample, the same for every process that reads it."""

from typing import Any, NamedTuple, Self

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.table import Settings
from skyband.zoning.digest import digests
from skyband.zoning.division import division_of
from skyband.zoning.document import read_document, write_document
from skyband.zoning.load import loads as loads_of
from skyband.zoning.tree import LEAF, CutTree, one_leaf

NOUN, VERSION = "a zoning", 1

# Where a division may fail, it is given up for zones by id when the most crowded zone has more than so many times the
# mean load, and has less by id.
UNBALANCED = 1.5


class Zoning(NamedTuple):
    """Zones for the subscriptions of a family.

    `kind` says by what they are divided, such as place, point or id, or whole where there is one zone. `loads` and
    `counts` are those of the sample, by zone.
    """

    family: str
    n_zones: int
    kind: str
    tree: CutTree
    names: tuple[str, ...]
    scale: Floats
    loads: Floats
    counts: Int64s

    def zone_of(self, rows: Any) -> Int64s:
        """The zone of each subscription, from 0; also of ones that were not in the sample."""
        if len(rows.ids) == 0:
            return np.zeros(0, np.int64)
        if not (self.tree.dim != LEAF).any():
            return self.tree.zone_of(np.zeros((len(rows.ids), 0)), digests(rows.ids))
        found = division_of(self.family).coordinates(rows, self.scale)
        if found.names != self.names:
            raise ValueError(
                f"The zones were fitted to subscriptions with the coordinates {', '.join(self.names)}, "
                f"but these have {', '.join(found.names)}; fit the zones again."
            )
        return self.tree.zone_of(found.points, digests(rows.ids))

    def describe(self) -> list[dict[str, Any]]:
        """For each zone: its number, its cell in words, and the subscriptions and load of the sample there."""
        cells: list[list[str]] = [[] for _ in range(self.n_zones)]
        for low, high, first, count in self.tree.boxes(len(self.names)):
            words = self._in_words(low, high)
            for zone in range(first, first + count):
                share = f", by id {zone - first + 1} of {count}" if count > 1 else ""
                cells[zone].append(words + share)
        return [
            {
                "zone": zone,
                "cell": "; ".join(cells[zone]),
                "subscriptions": int(self.counts[zone]),
                "load": float(self.loads[zone]),
            }
            for zone in range(self.n_zones)
        ]

    def _in_words(self, low: Floats, high: Floats) -> str:
        """What a cell is, in the coordinates in which it has an end."""
        side = division_of(self.family).side
        sides = zip(self.names, low.tolist(), high.tolist(), strict=True)
        told = [side(name, least, most) for name, least, most in sides if least > -np.inf or most < np.inf]
        return ", ".join(told) or "everything"

    def to_json(self) -> str:
        """The zoning as JSON, which `from_json` reads."""
        content = self._asdict()
        content["tree"] = {name: column.tolist() for name, column in self.tree._asdict().items()}
        content |= {name: getattr(self, name).tolist() for name in ("scale", "loads", "counts")}
        return write_document(NOUN, VERSION, content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        content = read_document(NOUN, VERSION, text, "fit the zones again")
        kinds: dict[str, type[Any]] = {name: np.float64 if name == "value" else np.int64 for name in CutTree._fields}
        tree = CutTree._make(np.array(content["tree"][name], kind) for name, kind in kinds.items())
        return cls(
            content["family"],
            content["n_zones"],
            content["kind"],
            tree,
            tuple(content["names"]),
            np.array(content["scale"], np.float64),
            np.array(content["loads"], np.float64),
            np.array(content["counts"], np.int64),
        )


def fit(family: str, subscriptions: Any, publications: Any, n_zones: int, settings: Settings) -> Zoning:
    """Zones of nearly equal load for subscriptions like these, under publications like these; both are samples."""
    division = division_of(family)
    if n_zones < 1:
        raise ValueError(f"There must be at least one zone, not {n_zones}.")
    weights = loads_of(family, subscriptions, publications)
    found = Zoning(family, n_zones, "id", one_leaf(n_zones), (), np.zeros(0), np.zeros(n_zones), np.zeros(0, np.int64))
    if n_zones > 1 and len(weights):
        found = _divided(found, subscriptions, weights)
    found = _counted(found, subscriptions, weights)
    if division.may_fail and found.kind == division.kind and found.loads.max() > UNBALANCED * found.loads.mean():
        by_id = _counted(found._replace(kind="id", tree=one_leaf(n_zones), names=()), subscriptions, weights)
        found = min(found, by_id, key=lambda zoning: float(zoning.loads.max()))
    return found if n_zones > 1 else found._replace(kind="whole")


def _divided(empty: Zoning, subscriptions: Any, weights: Floats) -> Zoning:
    division = division_of(empty.family)
    scale = division.scale(subscriptions)
    points, names = division.coordinates(subscriptions, scale)
    tree = division.divide(subscriptions, points, weights, empty.n_zones)
    kind = division.kind if (tree.dim != LEAF).any() else "id"
    return empty._replace(kind=kind, tree=tree, names=names, scale=scale)


def _counted(zoning: Zoning, subscriptions: Any, weights: Floats) -> Zoning:
    zones = zoning.zone_of(subscriptions)
    return zoning._replace(
        loads=np.bincount(zones, weights, zoning.n_zones).astype(np.float64),
        counts=np.bincount(zones, minlength=zoning.n_zones),
    )
