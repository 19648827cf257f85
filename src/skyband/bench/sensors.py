"""Real points: readings of air-quality stations, from a file that is not part of the project.

The file holds one reading a row (Beijing multi-site air quality, UCI 501, CC BY 4.0).
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from skyband.bench import real
from skyband.kernels.array import Floats

FILE = "sensors.parquet"
# Four, as in the paper; of those in the file, the ones with the fewest gaps and the least rounding.
COLUMNS = ("o3", "temp_c", "pres_hpa", "dewpoint_c")


def missing() -> str | None:
    """Why there are no real points, as a sentence; None if there are."""
    return None if real.find(FILE) else real.why_missing(FILE)


@lru_cache(maxsize=1)
def points(path: Path) -> Floats:
    """The readings without a gap, a row each, every column shifted and scaled to [0, 1]."""
    return real.unit_points(path, COLUMNS)


def sample(random: np.random.Generator, n: int) -> Floats:
    """n of the readings, none of them twice."""
    found = _found()
    return found[random.choice(len(found), n, replace=False)]


def choices(random: np.random.Generator, n: int) -> Floats:
    """n readings, each chosen from all."""
    found = _found()
    return found[random.integers(len(found), size=n)]


def _found() -> Floats:
    path = real.find(FILE)
    if path is None:
        raise FileNotFoundError(missing())
    return points(path)
