"""Windows and bounds."""

import math
import pickle

import pytest

from skyband.table import UNBOUNDED, Bounds, Settings, Window, WindowKind


def test_windows() -> None:
    assert Window.time(5) == (WindowKind.TIME, 5)
    assert Window.count(5) == (WindowKind.COUNT, 5)
    assert UNBOUNDED == (WindowKind.UNBOUNDED, 0)
    assert Settings().window is UNBOUNDED
    assert pickle.loads(pickle.dumps(Window.time(5))) == Window.time(5)


@pytest.mark.parametrize("size", [0, -1, 2**63])
def test_windows_are_positive(size: int) -> None:
    with pytest.raises(ValueError, match=f"A window must be a positive 64-bit integer, not {size}."):
        Window.count(size)


def test_an_unbounded_window_has_no_size() -> None:
    with pytest.raises(ValueError, match=r"An unbounded window has size 0, not 3\."):
        Window(WindowKind.UNBOUNDED, 3)


def test_bounds() -> None:
    assert Bounds.parse("0, 0,3,4") == (0.0, 0.0, 3.0, 4.0)
    assert Bounds(0, 0, 3, 4).diagonal == 5.0
    assert Bounds(0, 0, 1, 1).diagonal == math.sqrt(2)


@pytest.mark.parametrize("text", ["", "0,0,1", "0,0,1,1,1", "a,b,c,d"])
def test_bounds_are_four_numbers(text: str) -> None:
    with pytest.raises(
        ValueError, match='Bounds are written as four numbers "x_min,y_min,x_max,y_max" or "geographic", not '
    ):
        Bounds.parse(text)


@pytest.mark.parametrize("text", ["0,0,inf,1", "nan,0,1,1", "0,0,1e151,1"])
def test_bounds_are_finite(text: str) -> None:
    with pytest.raises(ValueError, match="Bounds must be four finite numbers"):
        Bounds.parse(text)


@pytest.mark.parametrize("text", ["0,0,0,1", "0,1,1,0"])
def test_bounds_are_not_empty(text: str) -> None:
    with pytest.raises(ValueError, match="Bounds must have x_min < x_max and y_min < y_max"):
        Bounds.parse(text)
