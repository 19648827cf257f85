"""Seeded workloads: subscriptions and publications for every family, with the papers' parameters as defaults.

Each family is a module with `Options`, `subscriptions(options)` and `generate(options)`; where
publications may be more than fit in memory there is also `stream(options, batch)`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from skyband.workload import covering, geotext, ranges, ranked, window
from skyband.workload.table import Workload

FAMILIES: dict[str, tuple[type[Any], Callable[[Any], Workload]]] = {
    "window": (window.Options, window.generate),
    "geotext": (geotext.Options, geotext.generate),
    "ranges": (ranges.Options, ranges.generate),
    "ranked": (ranked.Options, ranked.generate),
    "covering": (covering.Options, covering.generate),
}
"""The options of a family and what makes its workload from them."""

STREAMS: dict[str, tuple[Callable[[Any], pa.Table], Callable[[Any, int], Iterator[pa.Table]]]] = {
    "window": (window.subscriptions, window.stream),
    "geotext": (geotext.subscriptions, geotext.stream),
    "ranges": (ranges.subscriptions, ranges.stream),
}
"""The two halves apart, for families whose publications come as a stream: subscriptions, then batches."""

__all__ = ["FAMILIES", "STREAMS", "Workload", "covering", "geotext", "ranges", "ranked", "window"]
