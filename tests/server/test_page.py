"""docs/serve.md: its curl commands run against a server, and its tables have every route, problem, key and limit."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skyband.server import Limits, Running, ServerConfig
from skyband.server.http import body, problem
from tests.server.test_access import ROUTES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serve.md"
TEXT = PAGE.read_text(encoding="utf-8")
CURL = re.compile(r"^\$ (curl .*?)(?:  # exit (\d+))?\n((?:# prints: .*\n)*)", re.MULTILINE)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_commands_print_what_they_should(start: Callable[..., Running]) -> None:
    place = start().address.removeprefix("http://")
    commands = CURL.findall(TEXT)
    assert len(commands) == 6
    for command, code, prints in commands:
        words = shlex.split(command.replace("localhost:8484", place))
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == int(code or 0), command
        wanted = re.findall(r"^# prints: (.*)$", prints, re.MULTILINE)
        assert wanted
        for text in wanted:
            assert text in done.stdout, command


def test_every_route_has_a_line_with_its_scope() -> None:
    listed = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`?]+)[^`]*` \| (\w+) \|", TEXT, re.MULTILINE)
    assert dict(listed) == ROUTES


def test_every_kind_of_problem_has_a_line() -> None:
    sources = [Path(module.__file__ or "").read_text() for module in (problem, body)]
    sources += [(Path(problem.__file__ or "").parent / f"{name}.py").read_text() for name in ("admin", "entrance")]
    kinds = {
        kind
        for source in sources
        for kind in re.findall(r'(?:Problem|NotTaken)\(\w*?,? ?(?:\d+, )?"([a-z-]+)"|, \d{3}, "([a-z-]+)"', source)
        for kind in kind
        if kind
    }
    assert {"rejected", "rate", "no-room", "media-type", "no-token"} <= kinds
    section = TEXT.partition("| type | status |")[2].partition("\n\n")[0]
    listed = {
        kind
        for line in section.splitlines()
        for kind in re.findall(r"`([a-z-]+)`", line.split("|")[1:2][0] if "|" in line else "")
    }
    assert kinds - {"http", "unforeseen"} == listed


def test_every_key_and_limit_has_a_line() -> None:
    for fields, header in ((ServerConfig._fields, "| key | default |"), (Limits._fields, "| limit | default |")):
        section = TEXT.partition(header)[2].partition("\n\n")[0]
        listed = [key for line in section.splitlines()[2:] for key in re.findall(r"`(\w+)`", line.split("|")[1])]
        assert sorted(listed) == sorted(fields)
