"""A process that runs `python -m skyband` again and again, each time in a fork of itself.

Starting Python and loading compiled kernels takes seconds, and what a command does with a small file milliseconds. This
process pays for the start once. It is a script: it reads one request a line, a JSON object, and answers each with one.

A request has `words`, the arguments of the command; `out` and `err`, the files for what it prints; `limit`, the seconds
it may take; and `stay`, which runs it in this process and not in a fork, so that what it loads stays loaded. The answer
has `code`, the exit code, or null where the limit had passed and the command was killed. Before that it prints where it
was, which tells a loop that never ends from kernels that are being compiled.
"""

import faulthandler
import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def run(words: list[str]) -> int:
    """The exit code of `python -m skyband` with these arguments, run here."""
    sys.argv = ["skyband", *words]
    try:
        runpy.run_module("skyband", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@contextmanager
def printing_to(out: str, err: str) -> Iterator[None]:
    """Send both streams to files, also what is written past Python."""
    kept = [os.dup(1), os.dup(2)]
    for path, number in ((out, 1), (err, 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)


def run_printing(request: dict[str, Any]) -> int:
    """Run a command with its output in files; what nobody caught ends with 99, which no command does."""
    with printing_to(request["out"], request["err"]):
        if not request["stay"]:
            faulthandler.dump_traceback_later(request["limit"], file=2)
        try:
            return run(request["words"])
        except BaseException:
            sys.excepthook(*sys.exc_info())
            return 99


def wait(child: int, limit: float) -> int | None:
    """The exit code of a fork, or None if it had to be killed; it has a second to say where it is."""
    end = time.monotonic() + limit + 1
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def answer(request: dict[str, Any]) -> int | None:
    """Do what one request asks for."""
    if request["stay"]:
        return run_printing(request)
    child = os.fork()
    if child == 0:
        os._exit(run_printing(request))
    return wait(child, request["limit"])


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps({"code": answer(json.loads(line))}), file=answers)


if __name__ == "__main__":
    main()
