"""Streams of texts: rows with a text alone are split into words and weighed by the model of the stream."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skyband
from skyband.server import BadServerConfig, Running, load_server_config
from skyband.table.words import Words
from tests.server.calling import Reply, arrow, call

TEXTS = ["jazz in the park", "rain in the park", "jazz tonight"]
GEOTEXT = {"family": "geotext", "bounds": [0, 0, 10, 10]}
ANN = {"id": "ann", "k": 2, "x": 1, "y": 1, "text": "jazz park", "alpha": 0.5}
SAID = [
    {"id": i, "ts": i, "x": float(i), "y": 2.0, "text": text}
    for i, text in enumerate(["Jazz tonight", "the rain", "A park, and JAZZ!", "don't park"])
]


def top_of(address: str, stream: str = "news") -> Any:
    return call(address, "GET", f"/v1/streams/{stream}/subscriptions/ann/top").body["top"]


def told(address: str, stream: str = "news") -> None:
    assert call(address, "POST", f"/v1/streams/{stream}/subscriptions", [ANN]).status == 201
    assert call(address, "POST", f"/v1/streams/{stream}/publications", SAID[:2]).status == 200
    answer = call(
        address, "POST", f"/v1/streams/{stream}/publications", arrow(SAID[2:]),
        {"content-type": "application/vnd.apache.arrow.stream"},
    )  # fmt: skip
    assert answer.status == 200, answer


@pytest.fixture
def right() -> Any:
    """The top as an engine with this model has it."""
    with skyband.open("geotext", words=Words.fit_texts(TEXTS), bounds=skyband.Bounds(0, 0, 10, 10)) as engine:
        engine.subscribe([ANN])
        engine.publish(SAID)
        return [
            {name: row[name] for name in ("rank", "publication", "score")} for row in engine.top(["ann"]).to_pylist()
        ]


@pytest.mark.parametrize("words", [{"texts": TEXTS}, Words.fit_texts(TEXTS).plain])
def test_texts_are_weighed_as_an_engine_does(start: Callable[..., Running], words: Any, right: Any) -> None:
    server = start()
    opened = call(server.address, "POST", "/v1/streams", {"name": "news", "words": words, **GEOTEXT})
    assert opened.body["words"] == {"documents": 3, "words": 6, "counts": Words.fit_texts(TEXTS).version}
    told(server.address)
    assert top_of(server.address) == right
    assert len(right) == 2


def test_a_model_outlives_a_restart_and_a_checkpoint(start: Callable[..., Running], right: Any) -> None:
    first = start(checkpoint_every=2)
    call(first.address, "POST", "/v1/streams", {"name": "news", "words": {"texts": TEXTS}, **GEOTEXT})
    told(first.address)
    first.__exit__(None, None, None)
    second = start()
    assert top_of(second.address) == right
    again = call(second.address, "POST", "/v1/streams/news/publications", [SAID[0] | {"id": 9, "ts": 9}])
    assert again.body["published"] == 1


def test_a_file_of_words_is_named_in_the_configuration(tmp_path: Path, right: Any) -> None:
    Words.fit_texts(TEXTS).save(tmp_path / "words.json")
    path = tmp_path / "serve.yaml"
    path.write_text("port: 0\nstreams: {news: {family: geotext, bounds: [0, 0, 10, 10], words: words.json}}\n")
    with Running(load_server_config(path)) as server:
        told(server.address)
        assert top_of(server.address) == right
    path.write_text("streams: {news: {family: geotext, words: none.json}}\n")
    with pytest.raises(BadServerConfig, match=r"streams\.news: There is no file .*none\.json"):
        load_server_config(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({**GEOTEXT, "words": {"documents": 1}}, "version"),
        ({**GEOTEXT, "words": {"version": 1, "documents": -1, "frequencies": {}}}, "is not a count"),
        ({**GEOTEXT, "words": {"version": 1, "documents": 10**400, "frequencies": {}}}, "is not a count"),
        ({**GEOTEXT, "words": {"version": 1, "documents": 1}}, "frequencies"),
        ({**GEOTEXT, "words": {"texts": "jazz"}}, "not a list of texts"),
        ({**GEOTEXT, "words": {"texts": [7]}}, "is not a text"),
        ({"family": "window", "words": {"texts": TEXTS}}, "has no bounds and no words"),
        ({**GEOTEXT, "options": {"words": 1}}, "options is a mapping"),
    ],
)
def test_models_that_cannot_be(start: Callable[..., Running], given: dict[str, Any], said: str) -> None:
    answer: Reply = call(start().address, "POST", "/v1/streams", {"name": "news"} | given)
    assert (answer.status, said in answer.body["detail"]) == (422, True), answer


def test_texts_without_a_model_are_refused_with_the_reason(start: Callable[..., Running]) -> None:
    server = start(streams={"news": GEOTEXT})
    refused = call(server.address, "POST", "/v1/streams/news/publications", SAID[:1])
    assert refused.body["type"].endswith(":rejected")
