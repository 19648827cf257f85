"""`skyband generate`: the workloads as files, both or neither."""

import dataclasses
from pathlib import Path

import pytest

from skyband.cli.generate import family_command
from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import Bounds, Settings, read_table
from skyband.window import workload as window
from skyband.workload import recipe_of, recipes
from tests.cli.calling import call, document, failure

FEW = {
    "window": ["--n-publications", 30, "--n-subscriptions", 5],
    "geotext": ["--n-publications", 30, "--n-subscriptions", 5, "--vocabulary", 50, "--bounds", "-1,-1,1,1"],
    "ranges": ["--n-objects", 10, "--n-events", 20, "--n-subscriptions", 5],
    "ranked": ["--n-publications", 30, "--n-subscriptions", 5, "--ties"],
    "covering": ["--n-queries", 30, "--n-subscriptions", 5],
}


def test_every_family_is_there() -> None:
    assert list(FEW) == list(recipes())


@pytest.mark.parametrize("file_format", ["parquet", "ndjson", "csv"])
@pytest.mark.parametrize("family", FEW)
def test_files_are_written(family: str, file_format: str, tmp_path: Path) -> None:
    said = document("generate", family, "--out", tmp_path / "new" / "data", "--format", file_format, *FEW[family])
    second = "queries" if family == "covering" else "publications"
    assert said["family"] == family
    assert said[second] == {"file": str(tmp_path / "new" / "data" / f"{second}.{file_format}"), "n_rows": 30}
    assert said["subscriptions"]["n_rows"] == 5
    rows = read_subscriptions(family, said["subscriptions"]["file"], _settings(family))
    assert len(rows.table) == 5
    if family != "covering":
        assert len(read_publications(family, said[second]["file"], _settings(family)).table) == 30
    assert len(list((tmp_path / "new" / "data").iterdir())) == 2


def _settings(family: str) -> Settings:
    return Settings(bounds=Bounds(-1, -1, 1, 1)) if family == "geotext" else Settings()


@pytest.mark.parametrize("family", recipes())
def test_options_are_those_of_the_workload(family: str) -> None:
    command = family_command(family)
    fields = {field.name for field in dataclasses.fields(recipe_of(family).options)}
    own = {"out", "file_format", "force", "as_json", "no_color"}
    assert {param.name for param in command.params} == fields | own
    done = call("generate", family, "--help")
    assert done.exit_code == 0
    for field in dataclasses.fields(recipe_of(family).options):
        assert f"--{field.name.replace('_', '-')}" in done.stdout


def test_defaults_are_the_papers(tmp_path: Path) -> None:
    said = document("generate", "window", "--out", tmp_path, "--n-publications", 1)
    assert said["parameters"] == dataclasses.asdict(window.Options(n_publications=1))


def test_a_long_stream_is_the_workload(tmp_path: Path) -> None:
    options = ["--n-publications", 20_000, "--n-subscriptions", 3, "--seed", 4, "--window-us", "5m", "--dims", 1]
    done = call("generate", "window", "--out", tmp_path, *options)
    assert done.stdout.splitlines()[-1].startswith("Next: skyband replay window --publications ")
    expected = window.generate(
        window.Options(n_publications=20_000, n_subscriptions=3, seed=4, window_us=300_000_000, dims=1)
    )
    assert read_table(tmp_path / "publications.parquet").table == expected.publications
    assert read_table(tmp_path / "subscriptions.parquet").table == expected.subscriptions


def test_the_next_command_names_the_bounds(tmp_path: Path) -> None:
    done = call("generate", "geotext", "--out", tmp_path, *FEW["geotext"])
    assert "--bounds=-1.0,-1.0,1.0,1.0 --out" in done.stdout


def test_nothing_is_written_over(tmp_path: Path) -> None:
    words = ["generate", "ranked", "--out", tmp_path, *FEW["ranked"]]
    assert call(*words).exit_code == 0
    before = (tmp_path / "publications.parquet").read_bytes()
    assert "would be written over; --force allows it." in failure(*words, "--seed", 5)
    assert (tmp_path / "publications.parquet").read_bytes() == before
    assert call(*words, "--seed", 5, "--force").exit_code == 0
    assert (tmp_path / "publications.parquet").read_bytes() != before


def test_bad_values_are_usage(tmp_path: Path) -> None:
    out = ["--out", tmp_path / "new"]
    assert "not in the range" in failure("generate", "window", *out, "--k", 0, code=2)
    assert "is not a duration" in failure("generate", "window", *out, "--window-us", "soon", code=2)
    assert "less than 1" in failure("generate", "window", *out, "--window-us", "-5", code=2)
    assert "side_min must not be greater" in failure("generate", "covering", *out, "--side-min", 0.9, code=2)
    assert "No such command" in failure("generate", "nothing", *out, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "publications.parquet")

    monkeypatch.setattr("skyband.cli.generate._write_both", fail)
    words = ["generate", "ranked", "--out", tmp_path / "a" / "b", *FEW["ranked"]]
    assert failure(*words) == "publications.parquet: No space left on device."
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert "is a file" in failure("generate", "ranked", "--out", tmp_path / "file", *FEW["ranked"], code=2)
