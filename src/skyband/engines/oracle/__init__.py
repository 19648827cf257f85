"""The oracle: every family answered from scratch after every step, in plain Python, slowly and obviously.

Nothing here is shared with the engines it is compared with, except the scores of `skyband.scoring`.
"""

from skyband.engines.oracle.covering import CoverOracle
from skyband.engines.oracle.geotext import GeotextOracle
from skyband.engines.oracle.ranges import RangesOracle
from skyband.engines.oracle.ranked import RankedOracle
from skyband.engines.oracle.window import WindowOracle

__all__ = ["CoverOracle", "GeotextOracle", "RangesOracle", "RankedOracle", "WindowOracle"]
