"""The command line from outside: exit codes, pipes, and Ctrl-C."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skyband.cli.group import Interrupts
from tests.cli.calling import files, process


def test_exit_codes(tmp_path: Path) -> None:
    words = files(tmp_path, "ranked")
    for code, more in ((0, []), (1, ["--engine", "none"]), (2, ["--engine"])):
        run = process("replay", *words, "--engine", "oracle", *more)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == code, errors
        assert "Traceback" not in errors


def test_tracebacks_on_request(tmp_path: Path) -> None:
    words = ["engines", "--json"]
    run = process("replay", *files(tmp_path), "--engine", "none", env={"SKYBAND_TRACEBACK": "1"})
    assert "Traceback" in run.communicate(timeout=60)[1]
    out, errors = process(*words).communicate(timeout=60)
    assert errors == ""
    assert json.loads(out)


@pytest.mark.skipif(os.name == "nt", reason="There is no shell with head.")
def test_a_reader_may_go_away(tmp_path: Path) -> None:
    words = shlex.join([sys.executable, "-m", "skyband", "top", *files(tmp_path, "ranges"), "--engine", "oracle"])
    command = f"{words} --json | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for one process.")
@pytest.mark.parametrize(("name", "by"), [("SIGINT", "Ctrl-C"), ("SIGTERM", "SIGTERM"), ("SIGHUP", "SIGHUP")])
def test_a_command_that_is_stopped_leaves_nothing(name: str, by: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    words = files(tmp_path)
    lines = [f'{{"id":{i},"ts":{i},"point":[0.5,0.5]}}\n' for i in range(20_000)]
    (tmp_path / "many.ndjson").write_text("".join(lines))
    words[1] = str(tmp_path / "many.ndjson")
    before = set(tmp_path.iterdir())
    run = process("replay", *words, "--out", tmp_path / "changes.parquet", "--engine", "oracle", "--batch", 1)
    # The first bytes are written when everything has been read.
    for _ in range(600):
        if any(path.stat().st_size for path in set(tmp_path.iterdir()) - before):
            break
        time.sleep(0.1)
    run.send_signal(number)
    out, errors = run.communicate(timeout=60)
    assert (run.returncode, out) == (128 + number, "")
    assert errors == f"Error: Stopped by {by}; unfinished files were removed.\n"
    assert set(tmp_path.iterdir()) == before


def test_an_interrupt_that_nobody_could_catch_is_raised_again() -> None:
    """In a destructor Python drops what is raised, as it does in what a compiler calls back."""

    class Sender:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def send_and_wait() -> None:
        with Interrupts() as interrupts:
            sender = Sender()
            del sender
            assert interrupts.seen == signal.SIGINT
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        send_and_wait()
