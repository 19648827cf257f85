"""Modules that are run in a process of their own, and tell by the clock of the day when they were where."""

import json
import subprocess
import sys
import time
from typing import Any


def run_module(module: str, argument: str, seconds: float) -> tuple[float, dict[str, Any]]:
    """Run a module of ours: when that began, and the JSON object that it printed last."""
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-m", module, argument], capture_output=True, text=True, check=False, timeout=seconds
    )
    if done.returncode:
        raise RuntimeError(f"{module} has failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return began, found
