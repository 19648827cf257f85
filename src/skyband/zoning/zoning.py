"""Which zone a subscription belongs to: fitted to a sample, the same for every process that reads it."""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.table import Settings
from skyband.zoning.coordinate import DIMENSION, OPEN, WITHOUT_CENTRE, coordinates, extents, is_placeless
from skyband.zoning.digest import digests
from skyband.zoning.document import read_document, write_document
from skyband.zoning.load import loads as loads_of
from skyband.zoning.tree import LEAF, Tree, divide, divide_apart, one_leaf

NOUN, VERSION = "a zoning", 1
FAMILIES = {"window": "point", "geotext": "place", "ranges": "range", "ranked": "dimension"}
"""The families that can be divided, and the kind of their zones."""

# Zones by dimension are given up for zones by id when the most crowded one has more than so many times the mean load,
# and has less by id.
UNBALANCED = 1.5


class Zoning(NamedTuple):
    """Zones for the subscriptions of a family.

    `kind` says by what they are divided: place, point, range, dimension, id, or whole where there is one zone. `loads`
    and `counts` are those of the sample, by zone.
    """

    family: str
    n_zones: int
    kind: str
    tree: Tree
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
        found = coordinates(self.family, rows, self.scale)
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
            words = _in_words(self.names, low, high)
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
        kinds: dict[str, type[Any]] = {name: np.float64 if name == "value" else np.int64 for name in Tree._fields}
        tree = Tree._make(np.array(content["tree"][name], kind) for name, kind in kinds.items())
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
    if family not in FAMILIES:
        raise ValueError(f"Zones are for the families {', '.join(FAMILIES)}, not {family!r}.")
    if n_zones < 1:
        raise ValueError(f"There must be at least one zone, not {n_zones}.")
    weights = loads_of(family, subscriptions, publications)
    found = Zoning(family, n_zones, "id", one_leaf(n_zones), (), np.zeros(0), np.zeros(n_zones), np.zeros(0, np.int64))
    if n_zones > 1 and len(weights):
        found = _divided(found, subscriptions, weights)
    found = _counted(found, subscriptions, weights)
    if found.kind == "dimension" and found.loads.max() > UNBALANCED * found.loads.mean():
        by_id = _counted(found._replace(kind="id", tree=one_leaf(n_zones), names=()), subscriptions, weights)
        found = min(found, by_id, key=lambda zoning: float(zoning.loads.max()))
    return found if n_zones > 1 else found._replace(kind="whole")


def _divided(empty: Zoning, subscriptions: Any, weights: Floats) -> Zoning:
    scale = extents(subscriptions) if empty.family == "ranked" else np.zeros(0)
    points, names = coordinates(empty.family, subscriptions, scale)
    if empty.family == "window":
        tree = divide_apart(points, weights, is_placeless(subscriptions), empty.n_zones)
    else:
        # One dimension after the other for ranked: the second coordinate is in another unit in each of them.
        tree = divide(points, weights, empty.n_zones, by_turns=empty.family != "ranked")
    kind = FAMILIES[empty.family] if (tree.dim != LEAF).any() else "id"
    return empty._replace(kind=kind, tree=tree, names=names, scale=scale)


def _counted(zoning: Zoning, subscriptions: Any, weights: Floats) -> Zoning:
    zones = zoning.zone_of(subscriptions)
    return zoning._replace(
        loads=np.bincount(zones, weights, zoning.n_zones).astype(np.float64),
        counts=np.bincount(zones, minlength=zoning.n_zones),
    )


def _in_words(names: tuple[str, ...], low: Floats, high: Floats) -> str:
    sides = zip(names, low.tolist(), high.tolist(), strict=True)
    return ", ".join(filter(None, (_side(*side) for side in sides))) or "everything"


def _side(name: str, least: float, most: float) -> str:
    """What a cell is in one coordinate, nothing where it has no end there."""
    if least == -np.inf and most == np.inf:
        return ""
    if name == WITHOUT_CENTRE:
        return "distances" if least == -np.inf else "sums and cosines"
    if name == DIMENSION:
        # The middle of two dimensions is not one of them, and the upper end does not belong to a cell.
        last = "" if most == np.inf else f" to {math.ceil(most) - 1}"
        return f"dimensions {max(math.ceil(max(least, OPEN)), 0)}{last or ' and above'}"
    if most == np.inf:
        return f"{name} from {least:g}"
    return f"{name} from {least:g} to {most:g}" if least > -np.inf else f"{name} below {most:g}"
