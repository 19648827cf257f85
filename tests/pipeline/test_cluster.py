"""A pipeline on a cluster: the same configuration gives the same answers, also when an executor is killed."""

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skyband.pipeline.submit import ARCHIVES, PACKAGE, PYTHONPATH, build_archive, shipped, shipping
from tests.pipeline.cluster import PATIENCE, Cluster, open_cluster
from tests.pipeline.crash import ROOT, Child, n_committed, outcome, stream, truth, write_changed, write_stream
from tests.pipeline.short import SHORT

SEED = 3
LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": SHORT["spark.driver.extraJavaOptions"],
}


def test_the_archive_holds_the_package_as_it_runs_here(tmp_path: Path) -> None:
    path = build_archive(tmp_path / "package.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        archive.extractall(tmp_path / "unpacked")
    assert {"skyband/__init__.py", "skyband/py.typed", "skyband/pipeline/stage/worker.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]
    # A program in another folder, with the archive before all else, runs the one in the archive.
    told = subprocess.run(
        [sys.executable, "-c", "import skyband.pipeline.stage.worker as it; print(it.__file__)"],
        env=dict(os.environ, PYTHONPATH=str(tmp_path / "unpacked")),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(told.stdout.strip()).is_relative_to(tmp_path / "unpacked")
    assert build_archive(tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_the_package_is_shipped_to_clusters_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path))
    for master in ("local", "local[2]", "local[2,4]", "local[*]"):
        assert shipping(master, {}) == {}
    settings = shipping("spark://host:7077", {})
    path, _, name = settings[ARCHIVES].partition("#")
    assert (name, settings[PYTHONPATH]) == (PACKAGE, PACKAGE)
    assert Path(path).exists()
    # Who ships an environment that holds the package is left alone.
    assert shipping("yarn", {ARCHIVES: "environment.tar.gz#environment"}) == {}
    assert shipping("spark://host:7077", {PYTHONPATH: "/app/skyband"}) == {}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster for the tests of this module."""
    with open_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.soak
@pytest.mark.spark
def test_an_executor_is_killed_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    batches = stream(SEED, 12)
    write_stream(tmp_path, batches)
    # The package as it is installed there, in place of one that is shipped.
    write_changed(tmp_path, master=cluster.url, spark=LOOPBACK | {PYTHONPATH: str(ROOT / "src")})
    with Child(tmp_path) as child:
        seen = _watch(cluster, child, 4)
        first = cluster.executors()[0]
        first.kill()
        killed_at = n_committed(tmp_path)
        # It is not the end of the stream that hides the loss.
        assert killed_at < len(batches), child.told()
        seen |= _watch(cluster, child, len(batches))
        assert child.wait() == 0, child.told()
    zones = {part for parts in seen.values() for part in parts if part.startswith("zone-")}
    assert zones == {"zone-0", "zone-1"}
    # More than one executor had zones, and the one that took the place of the first was another process.
    assert len([pid for pid, parts in seen.items() if any(part.startswith("zone-") for part in parts)]) >= 2
    assert outcome(tmp_path) == truth(tmp_path, batches)


def _watch(cluster: Cluster, child: Child, n_batches: int) -> dict[int, set[str]]:
    """By executor, the parts that were seen there until so many batches counted."""
    seen: dict[int, set[str]] = {}
    deadline = time.monotonic() + PATIENCE
    while n_committed(child.folder) < n_batches and not child.ended:
        assert time.monotonic() < deadline, child.told()
        for pid, parts in cluster.parts().items():
            seen[pid] = seen.get(pid, set()) | parts
        time.sleep(0.1)
    return seen


@pytest.mark.changed("src/skyband/pipeline/", "tests/pipeline/", "requirements.lock")
@pytest.mark.spark
def test_spark_submit_runs_a_pipeline(cluster: Cluster, tmp_path: Path) -> None:
    import pyspark
    import yaml

    from skyband.pipeline import __main__ as program

    batches = stream(SEED, 3)
    write_stream(tmp_path, batches)
    document = {
        "family": "window",
        "dims": 2,
        "window": "30s",
        "zones": 2,
        "batch": 30,
        "state": "state",
        "publications": {"format": "log", "path": "publications"},
        "subscriptions": {"format": "log", "path": "subscriptions"},
        "changes": {"format": "parquet", "path": "changes"},
        "tops": {"format": "parquet", "path": "tops"},
    }
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(document))
    settings = LOOPBACK | shipped(build_archive(tmp_path / "package.zip"))
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    told = subprocess.run(
        [submit, "--master", cluster.url, *words, program.__file__, "run", "pipeline.yaml", "--until-idle"],
        env=dict(os.environ, PYSPARK_PYTHON=sys.executable, PYTHONPATH=str(ROOT / "src")),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-3000:]
    assert told.stdout.splitlines()[-1].startswith("batch 2: ")
    assert outcome(tmp_path) == truth(tmp_path, batches)
