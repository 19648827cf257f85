"""How the brokers of one chart work: the same options for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.table import Settings

Mode = Literal["watermark", "eager"]
GateRule = Literal["staircase", "chance", "recent", "kth"]
UpdateRule = Literal["every", "cells"]
Inform = Literal["nobody", "neighbours"]


@dataclass(frozen=True, kw_only=True)
class BrokerOptions:
    """Times are in microseconds.

    `mode` is "watermark", where answers are those of one engine row for row, tick by tick, or "eager", where they come
    as soon as they can and tops converge. `gates` says what a proxy lets in: what a "staircase" does; what has a
    "chance" above `sigma` to enter a top, as PA has it; what is as good as the k-th best of "recent" publications, as
    SASF has it; or what is as good as the "kth" score, which is wrong on purpose. A home does not see what other
    brokers refuse, so that `recent` is a time and not a number of publications. `updates` sends new gates on every
    change, or only when they reach other `cells` of a grid in the unit cube. A staircase is sent anew when `patience`
    publications came in vain; None is as many as the update has messages. A checkpoint is written after so many
    records.
    """

    chart: Chart
    strategy: str
    family: str = "window"
    settings: Settings = field(default_factory=Settings)
    engine: str = "skyband"
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = "watermark"
    tick: int = 1_000_000
    beat: int = 200_000
    credit: int = 64
    horizon: int = 60_000_000
    grace: int = 60_000_000
    gates: GateRule = "staircase"
    updates: UpdateRule = "every"
    cells: int = 3
    sigma: float = 1e-3
    recent: int = 120_000_000
    patience: int | None = None
    covering: bool = True
    checkpoint: int = 1000
    inform: Inform = "neighbours"
    fan_out: int = 2
    rounds: int = 4
    seed: int = 0
    zones: ZoneMap | None = None

    @property
    def holds(self) -> bool:
        """Whether what gates refuse is kept: the paper's proxies let go of it."""
        return self.gates == "staircase"
