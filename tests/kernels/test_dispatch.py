"""Kernels become machine code where Python calls them, with all that they call."""

from pathlib import Path
from typing import NamedTuple

import numba
import pytest

from skyband.kernels import compile as compiler
from skyband.kernels.compile import by_type, inlined, kernel
from skyband.kernels.dispatch import Kernel, compiled


class Square(NamedTuple):
    side: float


class Circle(NamedTuple):
    radius: float


def _square(shape: Square, n: int) -> float:
    return n * shape.side * shape.side


def _circle(shape: Circle, n: int) -> float:
    return n * 3.0 * shape.radius * shape.radius


def test_the_type_of_the_first_argument_says_which_kernel_is_called() -> None:
    circle = kernel(_circle)
    area = by_type({Square: kernel(_square), Circle: circle})

    def twice(shape: Square | Circle) -> float:
        return float(area(shape, 2))

    doubled = kernel(twice)
    assert doubled(Square(3.0)) == area(Square(3.0), 2) == 18.0
    if isinstance(circle, Kernel):
        assert not circle.part.overloads
    assert doubled(Circle(3.0)) == area(Circle(3.0), 2) == 54.0


@pytest.mark.jit_only
def test_only_what_python_calls_becomes_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "CACHE", tmp_path)

    def one_more(x: int) -> int:
        return x + 1

    innermost = inlined(one_more)

    def two_more(x: int) -> int:
        return innermost(innermost(x))

    inner = kernel(two_more)

    def four_more(x: int) -> int:
        return inner(inner(x))

    outer = kernel(four_more)
    assert outer(1) == 5
    assert isinstance(inner, Kernel)
    assert isinstance(outer, Kernel)
    assert len(outer.overloads) == len(inner.part.overloads) == 1
    assert not inner.overloads
    assert not outer.part.overloads
    assert [path.name.split("-")[0].split(".")[-1] for path in tmp_path.rglob("*.nbi")] == ["four_more"]
    # It has not been called from here before.
    assert inner(1) == 3
    assert len(inner.overloads) == 1
    # Another process would find it.
    again = kernel(four_more)
    assert isinstance(again, Kernel)
    assert again(1) == 5
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.jit_only
def test_a_function_of_another_library_may_call_kernels_that_call_kernels() -> None:
    def one_more(x: int) -> int:
        return x + 1

    inner = kernel(one_more)

    def two_more(x: int) -> int:
        return inner(inner(x))

    outer = kernel(two_more)

    @numba.njit  # type: ignore[untyped-decorator]
    def three_more(x: int) -> int:
        return inner(outer(x))

    def six_more(x: int) -> int:
        return int(three_more(three_more(x)))

    assert three_more(1) == 4
    assert kernel(six_more)(1) == 7


def test_without_the_compiler_a_kernel_is_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert compiled(_square, {}, is_cached=False) is _square
