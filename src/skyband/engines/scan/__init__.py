"""Scan: brute force in kernels, the baseline of every benchmark.

Every arrival is scored against every subscription. A subscription keeps a row of about twice its k best candidates, so
that an expiry is mostly filled from the row; when the row runs short, everything live is scored for it again.
"""

from skyband.engines.scan.geotext import GeotextScan
from skyband.engines.scan.ranges import RangesScan
from skyband.engines.scan.ranked import RankedScan
from skyband.engines.scan.window import WindowScan

__all__ = ["GeotextScan", "RangesScan", "RankedScan", "WindowScan"]
