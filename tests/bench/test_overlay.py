"""The counted table of the overlay beside the formulas of the top-k/w paper."""

import math
from typing import Any

import pytest

from skyband.bench import BENCHMARKS, Row
from skyband.bench.overlay_table3 import (
    CHART_NAMES,
    ENTRIES,
    EXACT,
    GROWTH,
    GROWTH_SCALES,
    SCALES,
    chart_points,
    formulas,
    growth_points,
)
from skyband.bench.overlay_workload import TablePoint, requests_of
from skyband.overlay.broker.event import Offered, Subscribed
from skyband.overlay.strategy import STRATEGIES


def totals(kind: str, n_updates: float) -> dict[str, float]:
    """The totals of Table 3 for the paper's parameters, in millions."""
    found = {}
    for entry in ENTRIES[:6]:
        point = TablePoint(SCALES["full"], entry._replace(kind=kind), 1_000_000)
        sent_to = {"subscription-flooding": 255, "covering": 255, "rendezvous": 3, "informed-gossiping": 3}
        updates = n_updates * sent_to.get(entry.strategy, 0)
        found[entry.strategy] = round(formulas(point, updates, 385 * 400)["formula_total"] / 1e6, 2)
    return found


def test_the_formulas_give_the_totals_in_print() -> None:
    assert list(totals("Boolean", 0).values()) == [255, 0.26, 0.83, 5.2, 25.6, 25.6]
    assert list(totals("top-k/w", 10_000).values()) == [255, 2.81, 2.1, 5.23, 25.6, 25.63]


def test_subscriptions_come_before_publications() -> None:
    requests = list(requests_of(TablePoint(SCALES["toy"], ENTRIES[0], 30)))
    kinds = [type(request.what) for request in requests]
    assert kinds == [Subscribed] * SCALES["toy"].n_subscriptions + [Offered] * 30
    assert [request.at for request in requests] == sorted(request.at for request in requests)


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], Row]:
    """The rows of a toy run."""
    found: list[Any] = BENCHMARKS["overlay-table3"].run("toy", lambda said: None)
    return {(row["algorithm"], row["parameters"]["kind"]): row for row in found}


@pytest.mark.changed("src/skyband/overlay/", "src/skyband/bench/")
def test_counts_are_those_that_formulas_know_for_certain(rows: dict[tuple[str, str], Row]) -> None:
    """A flood takes N - 1 messages in a tree; what is exact delivers what one engine does."""
    scale = SCALES["toy"]
    for (strategy, kind), row in rows.items():
        measures = row["measures"]
        if strategy == "publication-flooding":
            assert measures["publishing"] == measures["formula_publishing"] == (scale.n_brokers - 1) * scale.n_flooded
        if strategy == "subscription-flooding":
            assert measures["subscribing"] == (scale.n_brokers - 1) * scale.n_subscriptions
        if kind == "Boolean" and strategy not in ("rendezvous", "basic-gossiping", "informed-gossiping"):
            assert (measures["recall"], measures["lost"], measures["updating"]) == (1.0, 0.0, 0.0)
        if strategy == "zone-leases":
            assert measures["publishing"] <= scale.n_publications
            # What would have been in a top only between two ticks may not be told without watermarks.
            assert measures["recall"] > 0.9
        assert 0.0 <= measures["recall"] <= 1.0
        assert math.isclose(measures["total"], sum(measures[name] for name in COLUMNS))


COLUMNS = ("subscribing", "publishing", "delivering", "updating", "recalling")


@pytest.mark.changed("src/skyband/overlay/", "src/skyband/bench/")
def test_events_are_counted_with_and_without_engines() -> None:
    found: list[Any] = BENCHMARKS["overlay-events"].run("toy", lambda said: None)
    assert [row["algorithm"] for row in found] == [name for name in STRATEGIES for _ in range(2)]
    for row in found:
        measures = row["measures"]
        assert 0.0 < measures["engine_share"] < 1.0
        assert measures["per_second"] == pytest.approx(measures["events"] / row["latencies"][0] * 1e9)
        assert measures["per_second_without_engines"] > measures["per_second"]
    plain, checked = found[::2], found[1::2]
    assert [row["measures"]["events"] for row in plain] == [row["measures"]["events"] for row in checked]


def test_the_table_is_run_on_every_chart() -> None:
    found = [(point.scale.chart, point.entry) for point in chart_points(SCALES["full"])]
    assert found == [(chart, entry) for chart in CHART_NAMES for entry in ENTRIES]


def test_one_number_grows_at_a_time() -> None:
    """At full size up to the paper's own, while the others are the paper's."""
    full = GROWTH_SCALES["full"]
    for point in growth_points(full):
        changed = {name for name in GROWTH if getattr(point.scale, name) != getattr(full, name)}
        assert changed <= {point.grows}
        assert point.entry in EXACT
    sizes = [point.scale.n_brokers for point in growth_points(full) if point.grows == "n_brokers"]
    assert sizes == [16, 16, 64, 64, 256, 256]
