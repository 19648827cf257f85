"""Real points: readings of air-quality stations, from a file that is not part of the project.

The file holds one reading a row (Beijing multi-site air quality, UCI 501, CC BY 4.0). The folder it lies in is named by
an environment variable; where there is none, whatever needs the file is skipped and says so.
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skyband.workload.seed import Floats

VARIABLE = "SKYBAND_DATA"
FILE = "sensors.parquet"
# Four, as in the paper; of those in the file, the ones with the fewest gaps and the least rounding.
COLUMNS = ("o3", "temp_c", "pres_hpa", "dewpoint_c")


def find() -> Path | None:
    """The file, if the environment variable names a folder that holds it."""
    folder = os.environ.get(VARIABLE)
    path = Path(folder, FILE) if folder else None
    return path if path is not None and path.is_file() else None


def missing() -> str | None:
    """Why there are no real points, as a sentence; None if there are."""
    if find() is not None:
        return None
    return f"Skipped: the environment variable {VARIABLE} does not name a folder that holds {FILE}."


@lru_cache(maxsize=1)
def points(path: Path) -> Floats:
    """The readings without a gap, a row each, every column shifted and scaled to [0, 1]."""
    table = pq.read_table(path, columns=list(COLUMNS))
    values = np.stack([pc.fill_null(table[name], np.nan).to_numpy() for name in COLUMNS], axis=1).astype(np.float64)
    values = values[np.isfinite(values).all(axis=1)]
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray((values - low) / np.where(high > low, high - low, 1.0))


def sample(random: np.random.Generator, n: int) -> Floats:
    """n of the readings, none of them twice."""
    found = _found()
    return found[random.choice(len(found), n, replace=False)]


def choices(random: np.random.Generator, n: int) -> Floats:
    """n readings, each chosen from all."""
    found = _found()
    return found[random.integers(len(found), size=n)]


def _found() -> Floats:
    path = find()
    if path is None:
        raise FileNotFoundError(missing())
    return points(path)
