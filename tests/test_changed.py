"""Git says what a change has touched, on a branch and on the main one, committed or not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.changed import changed_files

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repository:
    """A new repository, whose first commit has two files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run("init", "--quiet", "--initial-branch", "main")
        self.write(one="1", two="2")
        self.commit()

    def run(self, *words: str) -> None:
        identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=self.root, check=True, capture_output=True)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)

    def commit(self) -> None:
        self.run("add", "--all")
        self.run("commit", "--quiet", "--message", "something")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_the_first_commit_has_nothing_before_it(repository: Repository) -> None:
    assert changed_files(repository.root) is None


def test_on_main_the_last_commit_counts_and_what_is_not_committed(repository: Repository) -> None:
    repository.write(one="other")
    repository.commit()
    repository.write(two="other")
    repository.commit()
    assert changed_files(repository.root) == {"two"}
    repository.write(one="again", three="3")
    assert changed_files(repository.root) == {"one", "two", "three"}


def test_on_a_branch_all_its_commits_count_and_none_of_the_others(repository: Repository) -> None:
    repository.run("checkout", "--quiet", "-b", "idea")
    for text in ("a", "b"):
        repository.write(one=text)
        repository.commit()
    repository.run("checkout", "--quiet", "main")
    repository.write(two="other")
    repository.commit()
    repository.run("checkout", "--quiet", "idea")
    assert changed_files(repository.root) == {"one"}


def test_without_git_nobody_can_tell(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed_files(tmp_path_factory.mktemp("elsewhere")) is None
    monkeypatch.setenv("PATH", "")
    assert changed_files(repository.root) is None
