"""Pipelines that an earlier commit ran for a while go on, and deliver what one engine does that sees all rows.

A later version of the state may be refused, but then in a sentence that names both versions, and nothing has changed.
`python -m tests.golden.write pipelines` runs them anew, see README.md in this folder.
"""

import contextlib
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.golden import pipelines
from tests.golden.pipelines import (
    ALL,
    BATCHES,
    CONFIGURATIONS,
    HERE,
    STOPPED,
    Delivered,
    append,
    delivered,
    one_engine,
    replayed,
    succeed,
    unpack,
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not HERE.exists(), reason="There is no path here that means the folder one is in."),
]

OTHER_VERSION = re.compile(
    r"Error: .*(version|format) \d+, and this version of Skyband reads (version|format) \d+\b.*\."
)


def in_this_process(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """Run `skyband` as `command` does, but on the session of the tests."""
    with contextlib.chdir(folder):
        done = call(*words)
    return subprocess.CompletedProcess([str(word) for word in words], done.exit_code, done.stdout, done.stderr)


def contents(state: Path) -> dict[str, str]:
    """A digest of every file that counts in a state folder: Spark notes which rows it would have read."""
    files = [path.relative_to(state) for path in sorted(state.rglob("*")) if path.is_file()]
    kept = [path for path in files if path.parts[0] not in ("checkpoint", "staged", "lock")]
    return {str(path): hashlib.sha256((state / path).read_bytes()).hexdigest() for path in kept}


def whole_truth(name: str, folder: Path) -> Delivered:
    """What one engine delivers over all rows; where every publication is a step, `skyband replay` tells the same."""
    truth = one_engine(name, BATCHES[name]())
    if name == "window":
        folder.mkdir()
        assert replayed(folder, BATCHES[name]()) == truth.changes
    return truth


@pytest.mark.changed("src/skyband/", "tests/golden/", "tests/pipeline/", "requirements.lock")
@pytest.mark.usefixtures("spark_for_commands")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_stored_pipeline_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "command", in_this_process)
    folder, batches = tmp_path / name, BATCHES[name]()
    unpack(name, folder)
    before = delivered(folder)
    assert before == one_engine(name, batches[:STOPPED])
    append(folder, "in", batches[STOPPED:])
    state = contents(folder / "state")
    done = in_this_process(folder, "pipeline", "run", "pipeline.yaml", "--until-idle", "--json")
    if done.returncode == 1 and OTHER_VERSION.fullmatch(done.stderr.strip().splitlines()[-1]):
        assert (contents(folder / "state"), delivered(folder)) == (state, before)
        return
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert (summary["batches"], summary["last"]) == (ALL - STOPPED, ALL - 1)
    status = json.loads(succeed(folder, "pipeline", "status", "pipeline.yaml", "--json"))
    assert (status["last"]["batch"], status["delivered"], status["undelivered"]) == (ALL - 1, ALL - 1, None)
    assert status["waiting"] == {"subscriptions": 0, "publications": 0}
    after = delivered(folder)
    assert after.changes[: len(before.changes)] == before.changes
    assert after == whole_truth(name, tmp_path / "alone")
