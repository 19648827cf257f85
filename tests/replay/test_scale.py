"""A replay of the size that people have, and the oracle beside it for a few of the subscribers."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from skyband.cli import main
from skyband.testing.machine import same


def _skyband(*words: object) -> None:
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.soak
def test_a_hundred_thousand_publications_for_ten_thousand_subscribers(tmp_path: Path) -> None:
    sizes = ("--n-publications", 100_000, "--n-subscriptions", 10_000, "--window-n", 400, "--score", "mixed")
    _skyband("generate", "window", "--out", tmp_path, *sizes, "--seed", 11)
    everyone = pq.read_table(tmp_path / "subscriptions.parquet")
    sample = everyone.take(list(range(0, 10_000, 1_250)))
    pq.write_table(sample, tmp_path / "sample.parquet")
    said = ("--publications", tmp_path / "publications.parquet")
    for engine, asked in (("scan", "subscriptions"), ("oracle", "sample")):
        files = ("--subscriptions", tmp_path / f"{asked}.parquet", "--out", tmp_path / f"{engine}.parquet")
        _skyband("replay", *said, *files, "--engine", engine)
    told = pq.read_table(tmp_path / "scan.parquet")
    chosen = pc.is_in(told["subscription"], value_set=sample["id"].combine_chunks())
    same(pa.table(told.filter(chosen)), pq.read_table(tmp_path / "oracle.parquet"))
