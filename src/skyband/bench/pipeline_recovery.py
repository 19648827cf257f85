"""`python -m skyband.bench.pipeline_recovery CONFIGURATION`: how long a new process takes to its first delivered batch.

It prints one JSON object: seconds from the start of the interpreter until the query runs, until the batch is delivered,
and what the parts took to be rebuilt.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from skyband.bench.child import run_module
from skyband.bench.pipeline_flow import reopen


def recover(configuration: Path) -> dict[str, Any]:
    """Go on with a pipeline in a new process; what it printed, and the seconds until it had delivered."""
    began, found = run_module("skyband.bench.pipeline_recovery", str(configuration), 1800)
    return found | {"ready_s": found["ready_at"] - began, "delivered_s": found["delivered_at"] - began}


def main() -> None:
    """Run the pipeline until it has delivered something."""
    # Moments are told by the clock of the day, which both processes have.
    shift = time.time() - time.perf_counter()
    ready, first = reopen(Path(sys.argv[1]))
    parts = {who: part["rebuilt_seconds"] for who, part in first.parts.items()}
    print(
        json.dumps(
            {"ready_at": ready + shift, "delivered_at": first.at + shift, "n_rows": first.n_rows, "parts": parts}
        )
    )


if __name__ == "__main__":
    main()
