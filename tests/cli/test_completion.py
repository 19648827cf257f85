"""`skyband completion`: scripts that complete."""

import shutil

import pytest

from tests.cli.calling import call, document, failure, process


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("There is no bash to ask for its version.")
    done = call("completion", shell)
    assert done.exit_code == 0
    assert "_SKYBAND_COMPLETE" in done.stdout
    said = document("completion", shell)
    assert (said["shell"], said["script"] in done.stdout) == (shell, True)


def test_unknown_shells() -> None:
    assert "is not one of" in failure("completion", "csh", code=2)


def test_commands_are_completed() -> None:
    words = {"_SKYBAND_COMPLETE": "bash_complete", "COMP_WORDS": "skyband gen", "COMP_CWORD": "1"}
    out, _ = process(env=words).communicate(timeout=60)
    assert out == "plain,generate\n"
