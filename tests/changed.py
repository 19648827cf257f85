"""What a change has touched, by git: tests that cost much are run for what changed, and all of them by `make soak`."""

import subprocess
from pathlib import Path

MAIN = ("origin/main", "main", "origin/master", "master")


def changed_files(root: Path) -> set[str] | None:
    """The paths that differ from where this branch began, or on the main branch from the commit before.

    What is not committed yet counts, and so do new files. None where git cannot tell.
    """
    base = _base(root)
    differs = base and _git(root, "diff", "--name-only", "--no-renames", "-z", base)
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return None if differs is None or new is None else {name for name in (differs + new).split("\0") if name}


def _base(root: Path) -> str | None:
    """The commit that the main branch and this one have in common; if that is this one, the commit before it."""
    here = _git(root, "rev-parse", "HEAD")
    for name in MAIN:
        common = _git(root, "merge-base", "HEAD", name)
        if common is not None and common != here:
            return common.strip()
    before = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^1")
    return before.strip() if before else None


def _git(root: Path, *words: str) -> str | None:
    """What git says, or None where there is no git or it knows no answer."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
