"""A made-up city: districts of several kinds along a river, with a centre, a harbour and a stadium."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.table import Bounds

# Kilometres.
WIDTH, HEIGHT = 12.0, 8.0
BANK = 0.16

_STARTS = ("Ar", "Bel", "Cor", "Dun", "El", "Fal", "Hal", "Lin", "Mar", "Nor", "Or", "Pel", "San", "Tor", "Ver", "Wes")
_MIDDLES = ("a", "an", "en", "i", "in", "o", "ov", "er", "am")
_ENDS = ("burg", "bridge", "dale", "ford", "haven", "ia", "mouth", "port", "stead", "ton", "wick")


class Site(NamedTuple):
    """Where a kind of district may lie: names to choose from, x, and how far above (or below) the river."""

    kind: str
    names: tuple[str, ...]
    x: float
    above: float
    radius: float
    share: float


SITES = (
    Site("centre", ("the Old Town", "the Minster Quarter", "Cathedral Hill"), 6.0, 0.95, 0.55, 3.0),
    Site("harbour", ("the Old Harbour", "Customs Quay", "the Lantern Docks"), 10.7, 0.6, 0.45, 1.8),
    Site("market", ("Market Row", "the Corn Exchange", "the Butter Market"), 4.9, 1.5, 0.35, 1.6),
    Site("station", ("the Station Quarter", "the Viaduct", "the Railway Arches"), 7.4, 1.9, 0.45, 1.7),
    Site("university", ("College Green", "Scholars Lane", "the Observatory"), 3.2, 0.9, 0.5, 1.5),
    Site("stadium", ("Stadium Park", "the North Stand", "the Meadow Ground"), 9.4, 2.5, 0.45, 1.0),
    Site("park", ("Willow Park", "the Botanic Garden", "Castle Park"), 1.7, 1.9, 0.6, 0.8),
    Site("arts", ("Theatre Mile", "Gallery Row", "Foundry Yard"), 6.9, -0.8, 0.4, 1.6),
    Site("homes", ("Mill Bank", "Weavers Field", "Tanner Street"), 4.6, -0.9, 0.5, 1.2),
    Site("homes", ("Hill Top", "Windmill Hill", "the Vineyard"), 3.4, 2.9, 0.6, 1.0),
    Site("homes", ("South Terrace", "Orchard End", "the Brickfields"), 8.9, -1.4, 0.6, 1.2),
    Site("homes", ("Abbey Wood", "Fox Hollow", "Long Acre"), 1.9, -0.9, 0.6, 0.9),
    Site("homes", ("the New Island", "the Garden Suburb", "Lakeside"), 6.2, -2.3, 0.6, 1.0),
)


class District(NamedTuple):
    """A part of the city, named with its article if it has one; `share` is its part of the people."""

    name: str
    kind: str
    x: float
    y: float
    radius: float
    share: float

    @property
    def label(self) -> str:
        """The name as it stands on a map."""
        return self.name.removeprefix("the ")


class City(NamedTuple):
    """A name, districts, and the bends of the river (height, length and start of each wave)."""

    name: str
    districts: tuple[District, ...]
    waves: tuple[tuple[float, float, float], ...]

    def river(self, x: Floats) -> Floats:
        """How far north the river runs at x."""
        y = np.full(np.shape(x), 3.55)
        for height, length, start in self.waves:
            y = y + height * np.sin(2.0 * np.pi * (x / length + start))
        return y

    def district(self, kind: str) -> int:
        """The number of the first district of a kind."""
        return next(i for i, district in enumerate(self.districts) if district.kind == kind)

    def scatter(self, rng: np.random.Generator, districts: Int64s, spread: float = 1.0) -> Floats:
        """A place on dry land in each of these districts, one row each."""
        here = np.array([(d.x, d.y, d.radius) for d in self.districts])[districts]
        places = here[:, :2] + spread * here[:, 2:] * rng.standard_normal((len(districts), 2))
        x = np.clip(places[:, 0], 0.05, WIDTH - 0.05)
        from_river = places[:, 1] - self.river(x)
        side = np.where(from_river < 0.0, -1.0, 1.0)
        dry = np.where(np.abs(from_river) < BANK, side * (BANK + np.abs(from_river)), from_river)
        y = np.clip(self.river(x) + dry, 0.05, HEIGHT - 0.05)
        return np.column_stack([x, y])


def bounds() -> Bounds:
    """The rectangle that holds the city."""
    return Bounds(0.0, 0.0, WIDTH, HEIGHT)


def make_city(rng: np.random.Generator) -> City:
    """A city drawn at random: its name, the bends of its river, and the sites moved about a little."""
    waves = tuple((float(h), float(n), float(rng.random())) for h, n in zip((0.45, 0.18), (13.0, 5.0), strict=True))
    empty = City(_name(rng), (), waves)
    return empty._replace(districts=tuple(_settle(rng, empty, site) for site in SITES))


def _name(rng: np.random.Generator) -> str:
    return "".join(str(rng.choice(parts)) for parts in (_STARTS, _MIDDLES, _ENDS))


def _settle(rng: np.random.Generator, city: City, site: Site) -> District:
    dx, dy = 0.6 * (rng.random(2) - 0.5)
    x = site.x + float(dx)
    y = float(city.river(np.array(x))) + site.above + float(dy) * 0.7
    return District(str(rng.choice(site.names)), site.kind, x, y, site.radius, site.share)
