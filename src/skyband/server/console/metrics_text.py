"""Metrics as Prometheus writes them, read again."""

import re
from typing import NamedTuple

LINE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+\d+)?")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    """A number, its name, and its labels."""

    name: str
    labels: dict[str, str]
    value: float


def read_metrics(text: str) -> list[Sample]:
    """The samples of a text; lines that are none, and comments, are left out."""
    found = []
    for line in text.splitlines():
        read = None if line.startswith("#") else LINE.fullmatch(line.strip())
        if read is None:
            continue
        try:
            value = float(read[3])
        except ValueError:
            continue
        labels = {name: re.sub(r"\\.", _plain, given) for name, given in LABEL.findall(read[2] or "")}
        found.append(Sample(read[1], labels, value))
    return found


def _plain(escaped: re.Match[str]) -> str:
    return ESCAPED.get(escaped[0], escaped[0])
