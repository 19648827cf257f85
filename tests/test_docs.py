"""The code in README.md and docs/ runs, page by page: Python blocks, and the `$ skyband` lines of consoles.

A block runs in a temporary folder after all earlier blocks of its page, with their names and their files. A `text`
block that follows a Python block, with nothing but blank lines between, is what that block prints, to the letter.
`no-run: reason` after the language leaves one out. In a console block a command may end in `# exit 2`, the
code it must end with, and a line `# prints: text` below it demands that text of its output; other output
lines are for the reader only.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from skyband.cli import main
from tests.choosing import PIPELINE
from tests.pipeline.short import SHORT

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.exists()]
RUN = ("python", "console")
SAID_OTHERWISE = {"py": "python", "python3": "python", "pycon": "python"} | dict.fromkeys(
    ("sh", "bash", "shell", "shell-session", "zsh"), "console"
)
SECONDS = 300

# Examples are sized for compiled kernels.
pytestmark = pytest.mark.jit_only


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    note: str
    code: str
    prints: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


class Command(NamedTuple):
    text: str
    code: int
    prints: list[str]


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, with the line their code starts on."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    for token, following in zip_longest(tokens, tokens[1:]):
        if token.type == "fence" and token.map is not None:
            language, _, note = token.info.strip().partition(" ")
            shown = following is not None and following.type == "fence" and following.info.strip() == "text"
            prints = following.content if shown else None
            yield Block(page, token.map[0] + 2, language, note.strip(), token.content, prints)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUNNABLE = [block for block in BLOCKS if block.language in RUN and not block.note.startswith("no-run")]
ON_SPARK = re.compile(r"skyband pipeline (run|fit|backfill)|--runner spark|skyband demo(?! --help)(?!.*--runner local)")


def needs_spark(block: Block) -> bool:
    """Whether Spark is started by a block, or by one before it on its page, which is run first."""
    before = [other for other in RUNNABLE if other.page == block.page and other.line <= block.line]
    return any(ON_SPARK.search(other.code) for other in before)


def commands_of(code: str) -> list[Command]:
    """The `$ skyband …` lines of a console block, each with the exit code and the output it must have."""
    commands: list[Command] = []
    for line in re.sub(r"\\\n(> )?", " ", code).splitlines():
        if match := re.fullmatch(r"\$ (skyband\b.*?)(?:\s+# exit (\d+))?\s*", line):
            commands.append(Command(match[1], int(match[2] or 0), []))
        elif line.startswith("# prints: "):
            assert commands, f"no command stands above {line!r}"
            commands[-1].prints.append(line.removeprefix("# prints: "))
    return commands


def run_python(block: Block, names: dict[str, object]) -> None:
    printed = io.StringIO()
    # Empty lines in front, so that a traceback shows the page's own line number.
    with redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, str(block.page), "exec"), names)
    if block.prints is not None:
        assert printed.getvalue().rstrip() == block.prints.rstrip(), f"{block.place} prints otherwise."


def run_console(block: Block) -> None:
    """Run the commands of a block: those of README.md, and those that start Spark, as a reader would in a shell."""
    if block.page.name == "README.md" or ON_SPARK.search(block.code):
        run_in_shell(block)
    else:
        run_here(block)


def run_here(block: Block) -> None:
    """Run commands in this process, which has loaded already what each would load for itself."""
    for command in commands_of(block.code):
        assert not set(command.text) & set("|<>&;*$`"), f"{command.text} needs a shell"
        words = shlex.split(command.text)[1:]
        check(command, *printed(words))


def printed(words: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it has printed."""
    done = CliRunner(env={"COLUMNS": "110"}).invoke(main, words, prog_name="skyband", catch_exceptions=False)
    return done.exit_code, done.output


def check(command: Command, code: int, said: str) -> None:
    """Hold what a command did against what its page demands."""
    assert code == command.code, f"{command.text} ended with {code}:\n{said}"
    for text in command.prints:
        assert text in said, f"{command.text} did not print {text!r}:\n{said}"


def run_in_shell(block: Block) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": scripts + os.pathsep + os.environ["PATH"], "COLUMNS": "110"}
    # Commands on Spark are over before Java's slower compiler has paid.
    environment["SPARK_SUBMIT_OPTS"] = SHORT["spark.driver.extraJavaOptions"]
    for command in commands_of(block.code):
        done = subprocess.run(
            command.text, shell=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        check(command, done.returncode, done.stdout)


class Page:
    """One page being read from top to bottom: its names, its folder and how far it has come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.read: list[Block] = []

    def read_to(self, last: Block) -> None:
        """Run what stands before a block and has not been run yet, then the block."""
        for block in RUNNABLE:
            if block.page == last.page and block.line <= last.line and block not in self.read:
                self.read.append(block)
                with chdir(self.folder):
                    run_python(block, self.names) if block.language == "python" else run_console(block)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    return {page: Page(tmp_path_factory.mktemp("page")) for page in PAGES}


def marks_of(block: Block) -> list[pytest.MarkDecorator]:
    """A block on Spark is run where its page or the pipeline changed, any other where its page or the package did.

    The README and the tutorial, with which people begin, are run in any case.
    """
    page = block.page.relative_to(ROOT).as_posix()
    if needs_spark(block):
        return [pytest.mark.spark, pytest.mark.changed(page, *PIPELINE)]
    always = page.startswith(("README", "docs/tutorial/"))
    return [] if always else [pytest.mark.changed(page, "src/skyband/", "tests/test_docs.py")]


@pytest.mark.parametrize("block", [pytest.param(block, id=block.place, marks=marks_of(block)) for block in RUNNABLE])
def test_block_runs(block: Block, pages: dict[Path, Page]) -> None:
    pages[block.page].read_to(block)


def test_blocks_left_out_say_why() -> None:
    silent = [block.place for block in BLOCKS if re.fullmatch(r"no-run(?!: \w).*", block.note)]
    assert silent == [], "write `no-run: reason` after the language of these blocks"


def test_languages_are_spelled_so_that_blocks_run() -> None:
    missed = {block.place: SAID_OTHERWISE.get(block.language, "") for block in BLOCKS}
    missed = {place: language for place, language in missed.items() if language}
    assert missed == {}, "these blocks escape the tests until they are named as shown"


def test_commands_are_read_with_their_demands() -> None:
    code = "$ make demo\n$ skyband top a \\\n> --at 3  # exit 2\noutput\n# prints: no file\n$ skyband doctor\n"
    assert commands_of(code) == [
        Command("skyband top a  --at 3", 2, ["no file"]),
        Command("skyband doctor", 0, []),
    ]
