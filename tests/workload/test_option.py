"""Options out of their bounds are refused in one sentence."""

from typing import Any

import pytest

from skyband.workload import recipe_of


@pytest.mark.parametrize(
    ("family", "given", "sentence"),
    [
        ("window", {"seed": -1}, "seed must be at least 0, not -1."),
        ("window", {"start": 2**61 + 1}, f"start must be at most {2**61}, not {2**61 + 1}."),
        ("window", {"k": 0}, "k must be at least 1, not 0."),
        ("window", {"k": 2.5}, "k must be an integer, not 2.5."),
        ("window", {"k": True}, "k must be an integer, not True."),
        ("window", {"rate": float("nan")}, "rate must be at least 1e-06, not nan."),
        ("window", {"rate": "fast"}, "rate must be a number, not 'fast'."),
        ("window", {"threshold": float("inf")}, "threshold must be finite, not inf."),
        ("window", {"boolean_share": 1.5}, "boolean_share must be at most 1.0, not 1.5."),
        ("window", {"data": "lumpy"}, "data is uniform or clustered, not 'lumpy'."),
        ("geotext", {"bounds": 3.0}, "bounds must be several numbers, not 3.0."),
        (
            "geotext",
            {"bounds": (0.0, 0.0, 0.0, 1.0)},
            "bounds must be least x, least y, greatest x and greatest y, not (0.0, 0.0, 0.0, 1.0).",
        ),
        ("ranges", {"data": "dataset2"}, "data dataset2 needs dims 2, not 1."),
        (
            "ranges",
            {"delete_share": 0.6, "move_share": 0.6},
            "delete_share and move_share must not add up to more than 1.",
        ),
        ("ranked", {"ties": 1}, "ties must be true or false, not 1."),
        ("ranked", {"region_min": 0.5}, "region_min must not be greater than region_max."),
        ("covering", {"side_min": 0.9}, "side_min must not be greater than side_max."),
    ],
)
def test_a_wrong_option_is_one_sentence(family: str, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"must|needs|is ") as caught:
        recipe_of(family).options(**given)
    assert str(caught.value) == sentence
