"""Threads in tests: whatever can be divided is, so that scripts of a few rows are shared as well."""

import contextlib
from collections.abc import Iterator

from skyband.kernels import crew


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Let engines with several threads divide all that they do, however little it is."""
    before, crew.EAGER = crew.EAGER, True
    try:
        yield
    finally:
        crew.EAGER = before
