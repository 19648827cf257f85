"""From nothing to a first change in a new process, with nothing compiled yet and with everything compiled."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured
from skyband.contract import FAMILIES
from skyband.replay.warm import sample

# What a user's first program does; the clock starts before anything of ours is imported.
PROGRAM = """
import time
start = time.perf_counter_ns()
import json, sys
told = json.load(sys.stdin)
import skyband
engine = skyband.open(told["family"], **told["options"])
engine.subscribe(told["subscriptions"])
engine.publish(told["publications"])
print(json.dumps({"ns": time.perf_counter_ns() - start, "taken": engine.taken}))
"""


class StartupPlan(NamedTuple):
    """How often families are started with everything compiled, whether one alone, and whether with the index too."""

    n_rounds: int
    only: str | None = None
    has_many: bool = True


def start_engines(plan: StartupPlan, progress: Progress) -> Iterator[Row]:
    """Each family with few subscriptions and with as many as need the index."""
    with_engines = (name for name, family in FAMILIES.items() if family.keeper is None)
    for family in with_engines if plan.only is None else [plan.only]:
        for many in (False, True)[: 1 + plan.has_many]:
            yield from _start(family, {"most_scanned": 0} if many else {}, plan.n_rounds, progress)


def _start(family: str, options: dict[str, Any], n_rounds: int, progress: Progress) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        for state, n in (("nothing compiled", 1), ("compiled", n_rounds)):
            contest = f"{family}, {'many' if options else 'few'} subscriptions"
            progress(f"{contest}, {state}")
            told = [_run(family, options, cache) for _ in range(n)]
            parameters = {"family": family, "state": state, "n_cores": os.cpu_count()}
            yield measured(contest, told[0]["taken"], parameters, [one["ns"] for one in told], 1, {})


def _run(family: str, options: dict[str, Any], cache: str) -> dict[str, Any]:
    made, more = sample(family), {"window": "10m"} if FAMILIES[family].has_windows else {}
    rows = {"subscriptions": made.subscriptions.to_pylist(), "publications": made.publications.to_pylist()}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({"family": family, "options": options | more} | rows),
        env=os.environ | {"SKYBAND_CACHE_DIR": cache},
        capture_output=True,
        check=True,
        text=True,
    )
    told: dict[str, Any] = json.loads(run.stdout)
    return told
