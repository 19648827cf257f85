"""The options of engines: found in their signatures, and read from text."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest

from skyband.contract import AnyEngine, engines, find_engine
from skyband.contract.option import options_of, read_options, read_value


@pytest.mark.parametrize(
    ("family", "engine", "names"),
    [
        ("window", "oracle", []),
        ("window", "scan", ["reserve"]),
        ("window", "blocks", ["index", "cells"]),
        ("window", "pa", ["sigma", "index", "cells"]),
        ("geotext", "skype", ["index", "policy", "ratio", "kmax", "groups", "capacity", "prunings", "depth"]),
        ("ranges", "paint", ["algorithm", "epsilon", "batch", "servers", "sketch", "shape", "ks"]),
    ],
)
def test_what_an_engine_can_be_opened_with(family: str, engine: str, names: list[str]) -> None:
    assert list(options_of(find_engine(family, engine))) == names


@pytest.mark.parametrize("kind", engines(), ids=lambda kind: f"{kind.family}-{kind.name}")
def test_every_mode_is_made_of_options(kind: type[AnyEngine]) -> None:
    for mode in (*kind.modes, *kind.rare_modes):
        assert set(mode) <= {*options_of(kind), "granularity", "on_error"}


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        (" -3 ", int, -3),
        ("3.0", int, "3.0"),
        ("1_000", int, "1_000"),
        ("3", float, 3),
        ("1e-3", float, 0.001),
        ("x", float, "x"),
        ("True", bool, True),
        ("false", bool, False),
        ("yes", bool, "yes"),
        ("none", int | None, None),
        ("7", int | None, 7),
        ("1.5", Literal["box", "1.5"], "1.5"),
        ("1, 2", tuple[int, int], [1, 2]),
        ("", Iterable[int], []),
        ("outer,inner", Iterable[str], ["outer", "inner"]),
        ("1,0.5", Sequence[float] | None, [1, 0.5]),
        ("None", Sequence[float] | None, None),
    ],
)
def test_text_is_read_as_the_type_says(text: str, hint: Any, value: Any) -> None:
    found = read_value(text, hint)
    assert (found, type(found)) == (value, type(value))


def test_values_that_are_no_text_stay() -> None:
    kind = find_engine("window", "blocks")
    assert read_options(kind, {"cells": None, "index": "grid"}) == {"cells": None, "index": "grid"}
    with pytest.raises(ValueError, match=r"^The engine oracle of the family window has no option 'b'; it has none\.$"):
        read_options(find_engine("window", "oracle"), {"b": 3})
