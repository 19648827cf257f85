"""Real data for benchmarks, from files that are not part of the project.

The folder they lie in is named by an environment variable; where there is none, whatever needs a file is skipped and
says so.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skyband.kernels.array import Floats

VARIABLE = "SKYBAND_DATA"


def find(file: str) -> Path | None:
    """A file, if the environment variable names a folder that holds it."""
    folder = os.environ.get(VARIABLE)
    path = Path(folder, file) if folder else None
    return path if path is not None and path.is_file() else None


def why_missing(file: str) -> str:
    """Why something is skipped for want of a file."""
    return f"Skipped: the environment variable {VARIABLE} does not name a folder that holds {file}."


def unit_points(path: Path, columns: tuple[str, ...]) -> Floats:
    """The rows of a file without a gap in these columns, every column shifted and scaled to [0, 1]."""
    table = pq.read_table(path, columns=list(columns))
    values = np.stack([pc.fill_null(table[name].cast("double"), np.nan).to_numpy() for name in columns], axis=1)
    values = values[np.isfinite(values).all(axis=1)]
    low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray((values - low) / np.where(high > low, high - low, 1.0))
