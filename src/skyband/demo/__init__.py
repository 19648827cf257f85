"""A seeded day in a made-up city, played through an engine and shown in the terminal."""

from skyband.demo.show import run
from skyband.demo.summary import DemoSummary

__all__ = ["DemoSummary", "run"]
