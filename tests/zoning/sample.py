"""Workloads of every family, parsed: what zones are fitted to and measured by."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import skyband
from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import Settings
from skyband.workload import Workload, recipe_of

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "geotext": ("geotext", {"n_publications": 600, "window_n": 0}),
    "window": ("window", {"n_publications": 600}),
    "window of clusters": ("window", {"n_publications": 600, "data": "clustered", "n_clusters": 5, "variance": 0.001}),
    "window of all scores": ("window", {"n_publications": 600, "score": "mixed", "boolean_share": 0.3}),
    "ranges": ("ranges", {"n_objects": 300, "n_events": 300}),
    "ranges of two": ("ranges", {"n_objects": 300, "n_events": 300, "dims": 2, "data": "clustered"}),
    "ranked": ("ranked", {"n_publications": 600, "dims": 1}),
    "ranked and sparse": ("ranked", {"n_publications": 600, "dims": 20, "constrained": 2, "missing_share": 0.8}),
}
"""Names of samples, their families, and the options of their workloads."""


class Sample(NamedTuple):
    """A workload as tables and as rows."""

    family: str
    settings: Settings
    tables: Workload
    subscriptions: Any
    publications: Any


def sample(name: str, n_subscriptions: int = 2_000) -> Sample:
    """The sample of this name."""
    family, options = OPTIONS[name]
    return generate(family, options | {"n_subscriptions": n_subscriptions})


def generate(family: str, options: dict[str, Any]) -> Sample:
    """A workload by its options."""
    recipe = recipe_of(family)
    tables = recipe.generate(recipe.options(**options))
    settings = Settings(dims=options.get("dims")) if family == "ranked" else Settings()
    subscriptions = read_subscriptions(family, tables.subscriptions, settings).parsed.rows
    publications = read_publications(family, tables.publications, settings).parsed.rows
    return Sample(family, settings, tables, subscriptions, publications)


class Lived(NamedTuple):
    """What is known after some publications: the worst of each top, and which of the others entered one."""

    worst: npt.NDArray[np.float64]
    entered: set[tuple[int, int]]


def live(found: Sample, n_before: int) -> Lived:
    """Publish so many, then the others; `entered` has pairs of a subscription and a publication after those."""
    engine = skyband.open(found.family)
    engine.subscribe(found.tables.subscriptions)
    engine.publish(found.tables.publications.slice(0, n_before))
    places = _places(found.subscriptions.ids)
    worst = np.full(len(places), np.nan)
    for row in engine.top().to_pylist():
        if row["rank"] == found.subscriptions.k[places[row["subscription"]]]:
            worst[places[row["subscription"]]] = row["score"]
    later = _places(found.publications.ids[n_before:])
    changes = engine.publish(found.tables.publications.slice(n_before)).to_pylist()
    entered = {(places[row["subscription"]], later[row["publication"]]) for row in changes if row["op"] == "enter"}
    return Lived(worst, entered)


def _places(ids: pa.Array) -> dict[Any, int]:
    return {id: place for place, id in enumerate(ids.to_pylist())}
