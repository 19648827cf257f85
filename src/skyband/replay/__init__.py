"""The local runner: files in, an engine in between, a change log and a summary out."""

from skyband.replay.explain import Explanations, explain
from skyband.replay.follow import follow
from skyband.replay.plan import Plan
from skyband.replay.run import Progress, replay
from skyband.replay.summary import Percentiles, Summary
from skyband.replay.table_file import SummaryOnly, TableFile, TableWriter, growing_file, table_file
from skyband.replay.top import Ranking, top

__all__ = [
    "Explanations",
    "Percentiles",
    "Plan",
    "Progress",
    "Ranking",
    "Summary",
    "SummaryOnly",
    "TableFile",
    "TableWriter",
    "explain",
    "follow",
    "growing_file",
    "replay",
    "table_file",
    "top",
]
