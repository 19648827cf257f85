"""The configuration: what is read, and the sentence for what cannot be."""

from pathlib import Path
from typing import Any

import pytest

from skyband.server import BadServerConfig, Limits, ServerConfig, load_server_config, make_server_config
from skyband.server.stream.spec import StreamSpec


def test_everything_has_a_default() -> None:
    assert make_server_config({}) == ServerConfig(Path("skyband-data"))


def test_a_file_is_read_and_its_paths_begin_at_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(
        "data: d\nport: 1\nhost: '::1'\nstreams: {a: {family: ranges}}\nlimits: {body: 4KiB, k: 7}\n"
        "origins: https://a.example\nbeat: 500ms\nstall: 2\n"
    )
    config = load_server_config(path)
    assert config.data == tmp_path / "d"
    assert (config.host, config.port, config.origins) == ("::1", 1, ("https://a.example",))
    assert config.limits == Limits(body=4096, k=7)
    assert (config.beat, config.stall) == (0.5, 2.0)
    assert dict(config.streams) == {"a": StreamSpec("ranges")}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prot": 1}, "no key 'prot'. Did you mean port?"),
        ({"port": 70000}, "port is an integer from 0 to 65535, not 70000."),
        ({"port": True}, "port is an integer"),
        ({"data": 5}, "data must be a text, not 5."),
        ({"certificate": "a.pem"}, "certificate and private_key belong together"),
        ({"limits": {"rowz": 1}}, "limits has no key 'rowz'. Did you mean rows?"),
        ({"limits": {"body": "4MB"}}, "limits.body is an integer"),
        ({"limits": []}, "limits is a mapping"),
        ({"origins": ["a.example"]}, "origins is a list of web sites"),
        ({"origins": ["https://a.example/path"]}, "origins is a list of web sites"),
        ({"origins": ["*"]}, "origins is a list of web sites"),
        ({"streams": []}, "streams is a mapping"),
        ({"streams": {"a b": {"family": "window"}}}, "streams.a b: A name has"),
        ({"streams": {"a": {}}}, "streams.a: family is missing"),
        ({"streams": {"a": 5}}, "streams.a"),
        ({"beat": "soon"}, "beat is a time such as"),
        ({"tick": 0}, "tick is a time such as"),
        ({"checkpoint_every": 0}, "checkpoint_every is an integer from 1"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadServerConfig) as refused:
        make_server_config(given)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"), [("- 1", "must hold a mapping"), ("{", "is not a YAML file"), ("port: x", "port is an integer")]
)
def test_a_file_that_cannot_be_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(text)
    with pytest.raises(BadServerConfig, match=said) as refused:
        load_server_config(path)
    assert str(path) in str(refused.value)
    with pytest.raises(BadServerConfig, match="cannot be read"):
        load_server_config(tmp_path / "nothing.yaml")
