"""When publications arrive: a Poisson process, or evenly spaced."""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.workload.option import Timed
from skyband.workload.seed import Chunk, Purpose, generator

MINUTE = 60_000_000


class Clock:
    """Hands out the arrival times of successive chunks, in whole microseconds, never going back."""

    def __init__(self, options: Timed) -> None:
        self.options = options
        self.gap = MINUTE / options.rate
        self.elapsed = 0.0

    def tick(self, chunk: Chunk) -> Int64s:
        """The arrival times of the chunk after the one asked for before."""
        if self.options.spacing == "regular":
            times = np.arange(chunk.start + 1, chunk.start + chunk.size + 1) * self.gap
        else:
            stream = generator(self.options.seed, Purpose.CLOCK, chunk.number)
            gaps = stream.standard_exponential(chunk.size) * self.gap
            times = np.cumsum(np.concatenate(([self.elapsed], gaps)))[1:]
        self.elapsed = float(times[-1]) if chunk.size else self.elapsed
        # Shifted as integers: a start of today's date would cost a double its microseconds.
        return np.asarray(np.floor(times).astype(np.int64) + np.int64(self.options.start))
