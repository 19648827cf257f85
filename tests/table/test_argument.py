"""Options are checked in one place, and what is wrong with one is a sentence that names it."""

import math
from typing import Any, Literal

import numpy as np
import pytest

from skyband.table.argument import check_choice, check_choices, check_flag, check_integer, check_number

Colour = Literal["red", "green", "blue"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("purple", "colour is red, green or blue, not 'purple'."),
        ("gren", "colour is red, green or blue, not 'gren'. Did you mean green?"),
        (None, "colour is red, green or blue, not None."),
        (["red"], "colour is red, green or blue, not ['red']."),
        (np.array(["red", "blue"]), "colour is red, green or blue, not array(['red', 'blue'], dtype='<U4')."),
    ],
)
def test_a_word_is_one_of_some(given: Any, sentence: str) -> None:
    check_choice("colour", "red", Colour)
    check_choice("colour", "red", ("red",))
    with pytest.raises(ValueError, match=r"^colour is ") as raised:
        check_choice("colour", given, Colour)
    assert str(raised.value) == sentence


def test_several_words_are_sorted() -> None:
    assert check_choices("colours", {"red", "blue"}, Colour) == ["blue", "red"]
    assert check_choices("colours", [], Colour) == []
    with pytest.raises(ValueError, match=r"^Each of colours is red, green or blue, not 'rod'\. Did you mean red\?$"):
        check_choices("colours", ["rod"], Colour)
    with pytest.raises(ValueError, match=r"^colours is a list of words among red, green, blue, not 'red'\.$"):
        check_choices("colours", "red", Colour)


@pytest.mark.parametrize("given", [True, 0, 5, 2.0, "2", None, math.nan, 2**70])
def test_an_integer_lies_in_its_range(given: Any) -> None:
    assert check_integer("n", 4, 1, 4) == check_integer("n", np.int8(4), 1) == 4
    with pytest.raises(ValueError, match=r"^n is an integer from 1 to 4, not "):
        check_integer("n", given, 1, 4)


@pytest.mark.parametrize("given", [True, 0, 1, "0.5", None, math.nan, math.inf, 10**400, [0.5]])
def test_a_number_lies_in_its_range(given: Any) -> None:
    assert check_number("share", 1, 0, 1) == check_number("share", np.float32(1), 0, 1) == 1.0
    with pytest.raises(ValueError, match=r"^share is a number above 0 and below 1, not "):
        check_number("share", given, 0, 1, above=True, below=True)
    if given not in (0, 1):
        with pytest.raises(ValueError, match=r"^share is a number from 0 to 1, not "):
            check_number("share", given, 0, 1)


def test_a_flag_is_no_number() -> None:
    assert check_flag("batch", np.True_) is True
    with pytest.raises(ValueError, match=r"^batch is True or False, not 1\.$"):
        check_flag("batch", 1)
