"""Calling the command line in this process and in others."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from skyband.cli import main
from skyband.table import write_table
from tests.replay.small import small


def call(*words: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [str(word) for word in words], prog_name="skyband")


def document(*words: object, code: int = 0) -> Any:
    """The JSON document of a command, which has to be all of its output."""
    done = call(*words, "--json")
    assert done.exit_code == code, done.stderr
    return json.loads(done.stdout)


def failure(*words: object, code: int = 1) -> str:
    """The one sentence of a command that fails with 1, or what follows its usage if with 2."""
    done = call(*words)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert code == 2 or len(lines) == 1, done.stderr
    assert lines[-1].startswith("Error: ")
    assert lines[-1].endswith(".")
    return lines[-1].removeprefix("Error: ")


STARTED: list["subprocess.Popen[str]"] = []
"""The processes of this test, which end with it at the latest."""


def process(*words: object, **options: Any) -> "subprocess.Popen[str]":
    """Start a command in a process of its own."""
    command = [sys.executable, "-m", "skyband", *(str(word) for word in words)]
    environment = os.environ | options.pop("env", {})
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, **options)
    STARTED.append(run)
    return run


def files(folder: Path, family: str = "window", suffix: str = "parquet") -> list[str]:
    """The options that name both files of a small workload, which is written first."""
    work = small(family)
    write_table(work.publications, folder / f"publications.{suffix}")
    write_table(work.subscriptions, folder / f"subscriptions.{suffix}")
    return [
        "--publications", str(folder / f"publications.{suffix}"),
        "--subscriptions", str(folder / f"subscriptions.{suffix}"),
    ]  # fmt: skip
