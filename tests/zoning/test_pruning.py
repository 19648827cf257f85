"""Pruning: how many pairs of a publication and a zone interests let through, counted on fixed workloads."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from skyband.contract.rows import take
from skyband.zoning import fit, interest
from tests.zoning.sample import Sample, generate, live

N_ZONES = 4
FOR_EVER = np.iinfo(np.int64).max

# The workloads are answered by a compiled engine first.
pytestmark = pytest.mark.jit_only


class Admitted(NamedTuple):
    """Pairs of a publication and a zone: all, those let through for ever, by full tops, and needed."""

    pairs: int
    static: int
    close: int
    needed: int


def admitted(found: Sample, worst: npt.NDArray[np.float64], later: Any) -> tuple[Any, Any, Any]:
    """The zones of subscriptions, and by zone and publication whether static and close interests admit it."""
    zoning = fit(found.family, found.subscriptions, later, N_ZONES, found.settings)
    zones = zoning.zone_of(found.subscriptions)
    static, close = [], []
    for zone in range(N_ZONES):
        chosen = np.flatnonzero(zones == zone)
        mine, until = take(found.subscriptions, chosen), np.full(len(chosen), FOR_EVER)
        static.append(interest(found.family, mine, found.settings).admits(later, 0))
        close.append(interest(found.family, mine, found.settings, worst[chosen], until).admits(later, 0))
    return zones, np.array(static), np.array(close)


def measured(family: str, options: dict[str, Any], n_before: int) -> Admitted:
    """Publish some, and count what of the rest the zones admit; all that enters a top is among it."""
    found = generate(family, options)
    lived = live(found, n_before)
    later = take(found.publications, np.arange(n_before, len(found.publications.ids)))
    zones, static, close = admitted(found, lived.worst, later)
    needed = {(zones[subscription], publication) for subscription, publication in lived.entered}
    assert all(close[pair] for pair in needed)
    assert not (close & ~static).any()
    return Admitted(close.size, int(static.sum()), int(close.sum()), len(needed))


WINDOW = {"n_publications": 6_000, "n_subscriptions": 400, "k": 3, "window_us": 10**12}


def check(found: Admitted, most_static: int, most_close: int) -> None:
    """Of 2,000 publications for 4 zones no more are admitted than when this was measured."""
    assert found.pairs == 8_000
    assert 0 < found.needed <= found.close <= most_close
    assert found.close <= found.static <= most_static


@pytest.mark.parametrize(("n_subscriptions", "static", "close"), [(400, 7_429, 135), (4_000, 7_851, 4_893)])
def test_full_tops_rule_out_messages(n_subscriptions: int, static: int, close: int) -> None:
    """The fewer subscriptions, the fewer a group has, and the less it can be reached by."""
    options = {"n_publications": 6_000, "window_n": 0, "k": 1, "n_subscriptions": n_subscriptions}
    check(measured("geotext", options, 4_000), static, close)


@pytest.mark.parametrize(
    ("score", "close"),
    [("euclidean", 1_164), ("chebyshev", 3_846), ("sum", 3_016), ("cosine", 7_479), ("mixed", 5_456)],
)
def test_full_tops_rule_out_points(score: str, close: int) -> None:
    check(measured("window", WINDOW | {"score": score}, 4_000), 8_000, close)


def test_thresholds_rule_out_points() -> None:
    check(measured("window", WINDOW | {"boolean_share": 1.0, "threshold": 0.1}, 4_000), 783, 783)


@pytest.mark.parametrize(
    ("family", "options", "most"),
    [
        ("ranges", {"n_objects": 1_000, "n_events": 1_000}, 6_177),
        ("ranges", {"n_objects": 1_000, "n_events": 1_000, "dims": 2}, 6_185),
        ("ranked", {"n_publications": 2_000, "dims": 20, "constrained": 1, "missing_share": 0.8}, 5_422),
        ("ranked", {"n_publications": 2_000, "dims": 20, "constrained": 2, "missing_share": 0.8}, 7_896),
    ],
)
def test_boxes_rule_out_events(family: str, options: dict[str, Any], most: int) -> None:
    found = generate(family, options | {"n_subscriptions": 2_000})
    _, static, _ = admitted(found, np.full(2_000, np.nan), found.publications)
    assert static.size == 8_000
    assert 0 < static.sum() <= most
