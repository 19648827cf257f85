"""The local runner: files in, an engine in between, a change log and a summary out."""

from skyband.replay.plan import Plan
from skyband.replay.run import Progress, replay
from skyband.replay.summary import Percentiles, Summary
from skyband.replay.table_file import ChangeSink, SummaryOnly, TableFile, table_file
from skyband.replay.top import Ranking, top

__all__ = [
    "ChangeSink",
    "Percentiles",
    "Plan",
    "Progress",
    "Ranking",
    "Summary",
    "SummaryOnly",
    "TableFile",
    "replay",
    "table_file",
    "top",
]
