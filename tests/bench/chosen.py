"""The benchmarks that test runs take at toy size, some only where they changed; `make soak` takes all of them."""

from typing import Any

import pytest

# One of each paper and of each room, so that together they run what the others run too.
CHOSEN = frozenset(
    {
        "scan",
        "straggling",
        "kernels",
        "parse",
        "window-figure18",
        "geotext",
        "ranges-table2",
        "ranked",
        "covering",
        "overlay-table3",
        "pipeline",
        "serve",
    }
)


def starts_spark(name: str) -> bool:
    """Whether a benchmark is one of the pipeline."""
    return name.startswith("pipeline")


def compiles_much(name: str) -> bool:
    """Whether the toy run of a benchmark compiles for long what no engine does."""
    return name.startswith(("ranked", "ranges", "covering"))


def asked_for(item: pytest.Item) -> list[str]:
    """The benchmarks at whose toy runs a test looks."""
    return [name for mark in item.iter_markers("toy") for name in mark.args]


def toys(*names: str) -> list[Any]:
    """Parameters of a test that looks at one benchmark at a time."""
    return [pytest.param(name, marks=pytest.mark.toy(name)) for name in names]
