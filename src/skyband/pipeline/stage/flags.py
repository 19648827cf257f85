"""Flags by row and zone, of which there are few: numpy goes through short rows slowly, and through columns fast."""

import numpy as np

from skyband.kernels.array import Bools


def everywhere(flags: Bools) -> Bools:
    """Which rows have them all."""
    found = np.ones(len(flags), np.bool_)
    for column in flags.T:
        found &= column
    return found


def anywhere(flags: Bools) -> Bools:
    """Which rows have one."""
    found = np.zeros(len(flags), np.bool_)
    for column in flags.T:
        found |= column
    return found
