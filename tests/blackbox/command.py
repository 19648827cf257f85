"""Running the command `skyband` as others do: words in, an exit code, text and files out, within a time limit."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Seconds. What has not ended by then never will, unless it compiles kernels that were not in the cache.
LIMIT = float(os.environ.get("SKYBAND_BLACKBOX_LIMIT", "60"))
COMPILING_LIMIT = 1200.0
COMPILING = "numba/core/"


@dataclass(frozen=True)
class Done:
    """How a command ended; `code` is None for one that had to be killed."""

    words: list[str]
    code: int | None
    out: str
    err: str

    def describe(self) -> str:
        """The command and how it ended, for a failing test."""
        ended = "did not end within its time limit" if self.code is None else f"ended with {self.code}"
        return f"skyband {' '.join(self.words)}\n{ended}\n{self.out[:2000]}{self.err[:2000]}"

    def document(self) -> Any:
        """What `--json` printed, of a command that has to have ended well."""
        assert self.code == 0, self.describe()
        return json.loads(self.out)


class Commands:
    """Commands run one after the other, in forks of a process that is warm, see `nursery.py`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._warm: set[str] = set()

    def run(self, *words: object, limit: float = LIMIT) -> Done:
        """Run a command to its end, or kill it at the limit."""
        texts = [str(word) for word in words]
        done = self._ask(texts, limit, stay=False)
        if done.code is None and COMPILING in done.err:
            return self._ask(texts, COMPILING_LIMIT, stay=False)
        return done

    def warm(self, name: str, *words: object) -> None:
        """Run a command once for all later ones to find loaded what it loads."""
        if name not in self._warm:
            done = self._ask([str(word) for word in words], COMPILING_LIMIT, stay=True)
            assert done.code == 0, done.describe()
            self._warm.add(name)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._warm.clear()

    def _ask(self, words: list[str], limit: float, stay: bool) -> Done:
        out, err = self._folder / "out.txt", self._folder / "err.txt"
        request = {"words": words, "out": str(out), "err": str(err), "limit": limit, "stay": stay}
        line = self._answer(json.dumps(request), limit + 30)
        code = json.loads(line)["code"] if line else None
        return Done(words, code, *(path.read_text(encoding="utf-8", errors="replace") for path in (out, err)))

    def _answer(self, request: str, limit: float) -> str:
        """One line for one line; where the process itself hangs it is killed, and the next request starts another."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(limit, process.kill)
        watch.start()
        process.stdin.write(request + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        watch.cancel()
        if not line:
            self.close()
        return line

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            script = Path(__file__).with_name("nursery.py")
            pipe = subprocess.PIPE
            self._process = subprocess.Popen([sys.executable, str(script)], stdin=pipe, stdout=pipe, text=True)
        return self._process


def run_alone(folder: Path, *words: object, limit: float = COMPILING_LIMIT) -> Done:
    """Run a command in a process of its own, from its start."""
    texts = [str(word) for word in words]
    command = [sys.executable, "-m", "skyband", *texts]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return Done(texts, None, "", "")
    return Done(texts, done.returncode, done.stdout, done.stderr)
