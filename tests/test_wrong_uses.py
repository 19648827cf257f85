"""Wrong uses, and the sentence that each gets: the transcript that docs/python.md shows is this one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skyband

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
ANN: dict[str, Any] = {"id": "ann", "k": 2, "score": "sum", "weights": [1.0]}
SAID: dict[str, Any] = {"id": 1, "ts": 5, "point": [1.0]}


def started() -> Any:
    engine = skyband.open("window", "oracle", window="10m")
    engine.subscribe(ANN)
    engine.publish(SAID)
    return engine


ENGINES = "auto, blocks, cskyband, kmax, oracle, pa, sasf, scan, skyband, sma, tma"
# As the page shows it, where `engine` is one that was started.
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    'skyband.open("windows")': (
        lambda: skyband.open("windows"),
        "There is no family 'windows'; there are geotext, ranges, ranked, window.",
    ),
    'skyband.open("window", "block")': (
        lambda: skyband.open("window", "block"),
        f"The family window has no engine 'block'; it has {ENGINES}.",
    ),
    'skyband.open("window", granularity="publications")': (
        lambda: skyband.open("window", **dict[str, Any](granularity="publications")),
        "granularity is batch or publication, not 'publications'. Did you mean publication?",
    ),
    'skyband.open("window", "blocks", cell=8)': (
        lambda: skyband.open("window", "blocks", cell=8),
        "The engine blocks of the family window has no option 'cell'; its options are index, cells.",
    ),
    'skyband.open("ranges", window="10m")': (
        lambda: skyband.open("ranges", window="10m"),
        "The family ranges has no windows: leave the default window out.",
    ),
    'engine.subscribe(ann | {"id": "bob", "score": "euclid"})': (
        lambda: started().subscribe(ANN | {"id": "bob", "score": "euclid"}),
        "subscriptions: row 1, column score, value 'euclid': score must be one of euclidean, chebyshev, sum, cosine, "
        "geodesic.",
    ),
    'engine.subscribe(ann | {"id": "bob", "window_us": "ten minutes"})': (
        lambda: started().subscribe(ANN | {"id": "bob", "window_us": "ten minutes"}),
        "subscriptions: row 1, column window_us, value 'ten minutes': window_us must be an integer of microseconds or "
        "a duration such as 10m.",
    ),
    'engine.publish({"id": 2, "point": [1.0]})': (
        lambda: started().publish({"id": 2, "point": [1.0]}),
        'Window publications need the column "ts" (columns found: id, point).',
    ),
    'engine.top("eve")': (
        lambda: started().top("eve"),
        "ids: row 1, column id, value 'eve': is not registered.",
    ),
    'engine.advance("10m")': (
        lambda: started().advance("10m"),
        "The time is an integer of microseconds, or a datetime without less, not '10m'.",
    ),
    "engine.advance(3)": (
        lambda: started().advance(3),
        "Time cannot go back: it is 5 already, and 3 was asked for.",
    ),
    'engine.run("publications.ndjson")': (
        lambda: started().run("publications.ndjson"),
        "run takes batches one after another, such as a list of tables, not a str; publish takes one batch.",
    ),
    'skyband.answer_as(engine.top(), "spark")': (
        lambda: skyband.answer_as(started().top(), **dict[str, Any](shape="spark")),
        "shape is arrow, pandas, polars or pylist, not 'spark'.",
    ),
}


@pytest.mark.parametrize("use", WRONG)
def test_a_wrong_use_gets_its_sentence(use: str) -> None:
    action, sentence = WRONG[use]
    with pytest.raises(ValueError, match=r".") as raised:
        action()
    assert str(raised.value) == sentence


def test_the_page_shows_them_all() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.split("## When something is wrong\n")[1].split("\n## ")[0]
    for use, (_, sentence) in WRONG.items():
        assert use in section
        assert f"\n{sentence}\n" in section, sentence


def test_there_are_ten_and_more() -> None:
    assert len(WRONG) >= 10
