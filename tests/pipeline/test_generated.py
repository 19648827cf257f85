"""Made-up rows: a function of their numbers, and those of the workload with the same seed."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract.reading import read_publications, read_subscriptions
from skyband.pipeline.source.generated import known_options, make_maker, make_rows
from skyband.table import Settings
from skyband.workload import recipe_of
from skyband.workload.seed import CHUNK

GIVEN: dict[str, dict[str, Any]] = {
    "geotext": {"family": "geotext", "seed": 3, "gap_us": 500, "vocabulary": 1000, "corpus": "places"},
    "window": {"family": "window", "seed": 3, "gap_us": 500, "dims": 2, "data": "clustered"},
}
NOUNS = ("publications", "subscriptions")


def made(family: str, noun: str, numbers: Any) -> list[dict[str, Any]]:
    """The rows with these numbers."""
    texts = make_rows(make_maker(GIVEN[family]), noun, np.array(numbers, np.int64)).to_pylist()
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("family", GIVEN)
def test_rows_are_those_of_the_workload(family: str, noun: str) -> None:
    options = {name: value for name, value in GIVEN[family].items() if name not in ("family", "gap_us")}
    recipe = recipe_of(family)
    workload = recipe.generate(recipe.options(n_publications=2 * CHUNK, n_subscriptions=CHUNK, **options))
    wanted = getattr(workload, noun).to_pylist()[:CHUNK]
    found = made(family, noun, range(CHUNK))
    if noun == "publications":
        assert [row.pop("ts") for row in found] == [500 * number for number in range(CHUNK)]
        wanted = [{name: value for name, value in row.items() if name != "ts"} for row in wanted]
    assert found == wanted


@given(st.lists(st.integers(0, 5 * CHUNK), max_size=8), st.sampled_from(NOUNS))
def test_a_row_does_not_depend_on_what_else_is_asked_for(numbers: list[int], noun: str) -> None:
    for family in GIVEN:
        assert made(family, noun, numbers) == [made(family, noun, [number])[0] for number in numbers]


def test_another_process_makes_the_same_rows() -> None:
    program = f"""
import numpy as np
from skyband.pipeline.source.generated import make_maker, make_rows
print(*make_rows(make_maker({GIVEN["geotext"]!r}), "publications", np.array([70000, 3])).to_pylist(), sep="\\n")
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert [json.loads(line) for line in told.splitlines()] == made("geotext", "publications", [70000, 3])


@pytest.mark.parametrize("score", ["euclidean", "chebyshev", "sum", "cosine"])
@pytest.mark.parametrize("ids", ["integer", "string"])
def test_the_family_takes_the_rows(score: str, ids: str) -> None:
    for family in GIVEN:
        scored = {"score": score} if family == "window" else {}
        maker = make_maker(GIVEN[family] | {"ids": ids} | scored)
        settings = Settings(dims=2 if family == "window" else None)
        numbers = np.arange(200)
        rows = [[json.loads(text) for text in make_rows(maker, noun, numbers).to_pylist()] for noun in NOUNS]
        assert read_publications(family, rows[0], settings).table.num_rows == 200
        assert read_subscriptions(family, rows[1], settings).table.num_rows == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "generator.family is one of geotext, window, not None."),
        ({"family": "ranked"}, "generator.family is one of geotext, window, not 'ranked'."),
        ({"family": "window", "rate": 1.0}, "generator has no option 'rate' for window; it has family, gap_us, seed"),
        ({"family": "window", "gap_us": -1}, "generator.gap_us is a number of microseconds from 0 up, not -1."),
        ({"family": "window", "gap_us": True}, "generator.gap_us is a number of microseconds from 0 up, not True."),
        ({"family": "window", "dims": 0}, "generator: dims must be at least 1, not 0."),
        ({"family": "window", "score": "mixed"}, "generator.score is one score here, not mixed."),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        make_maker(options)


def test_lists_of_yaml_are_taken() -> None:
    assert make_maker({"family": "geotext", "bounds": [0.0, 0.0, 2.0, 2.0]}).options.bounds == (0.0, 0.0, 2.0, 2.0)
    assert "bounds" in known_options("geotext")
    assert make_maker({"family": "window"}).gap_us == 60_000
