"""The engines of the top-k/w paper, and ours: an index, a buffer policy and the store, combined and named."""

from skyband.engines.window.combination import (
    WindowBlocks,
    WindowCSkyband,
    WindowKmax,
    WindowPa,
    WindowSasf,
    WindowSkyband,
    WindowSma,
    WindowTma,
)

__all__ = [
    "WindowBlocks",
    "WindowCSkyband",
    "WindowKmax",
    "WindowPa",
    "WindowSasf",
    "WindowSkyband",
    "WindowSma",
    "WindowTma",
]
