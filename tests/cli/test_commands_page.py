"""docs/commands.md has every command and every option, and none that is not there."""

import re
from pathlib import Path

import click
import pytest

from skyband.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
OPTION = re.compile(r"--?[a-z][a-z-]*")


def sections() -> dict[str, set[str]]:
    """The options that each section of the page has a line for, by the command it is headed with."""
    found: dict[str, set[str]] = {}
    for part in re.split(r"^##+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        lines = re.findall(r"^- (`.+?`): \S.+", body, re.MULTILINE)
        told = [option for line in lines for option in OPTION.findall(re.sub(r"[A-Z]\S*", "", line))]
        assert len(told) == len(set(told)), f"{heading} has an option twice"
        found[heading] = set(told)
    return found


def commands(command: click.Command, name: str = "skyband") -> dict[str, set[str]]:
    """The options of every command, by its name."""
    context = click.Context(command)
    options = {
        option
        for param in command.params
        if isinstance(param, click.Option)
        for option in (*param.opts, *param.secondary_opts)
    }
    found = {name: options}
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            inner = command.get_command(context, word)
            assert inner is not None
            found |= commands(inner, f"{name} {word}")
    return found


SECTIONS, COMMANDS = sections(), commands(main)
GROUPS = {"skyband", "skyband generate", "skyband pipeline", "skyband overlay", "skyband broker"}
EVERYWHERE = {"-h", "--help", "--json", "--no-color"}


def test_every_command_has_a_section() -> None:
    assert list(SECTIONS) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line(name: str) -> None:
    told = SECTIONS[name]
    if name.startswith("skyband generate "):
        told = told | (SECTIONS["skyband generate"] & COMMANDS[name])
    expected = COMMANDS[name] - EVERYWHERE
    if name == "skyband":
        expected |= EVERYWHERE
    if name == "skyband generate":
        expected = told & set().union(*(COMMANDS[each] for each in COMMANDS if each.startswith(name)))
    assert told == expected


def test_every_command_prints_documents() -> None:
    for name, options in COMMANDS.items():
        assert name in GROUPS or {"--json", "--no-color"} <= options
