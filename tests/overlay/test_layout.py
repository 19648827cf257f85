"""Where brokers are drawn: each in a place of its own, as far out as it is along the tree."""

import math

import pytest

from skyband.overlay.broker.chart import CHARTS, Chart
from skyband.overlay.simulate.layout import middle_of, places_of


@pytest.mark.parametrize("n_brokers", [4, 6, 24, 80])
@pytest.mark.parametrize("name", CHARTS)
def test_no_two_brokers_are_in_one_place(name: str, n_brokers: int) -> None:
    chart = CHARTS[name](n_brokers, 1)
    places = places_of(chart)
    assert len({(round(x, 6), round(y, 6)) for x, y in places}) == n_brokers
    assert places[middle_of(chart)] == (0.0, 0.0)
    assert max(math.hypot(*place) for place in places) == pytest.approx(1.0)


def test_the_middle_of_a_line_is_in_the_middle() -> None:
    assert middle_of(Chart(5, [(0, 1), (1, 2), (2, 3), (3, 4)])) == 2
    assert places_of(Chart(1, [])) == [(0.0, 0.0)]
