"""Packages: how a peer's system gets onto this machine, into a folder of its own and never into the project's .venv."""

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import venv
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path("build", "peers")
LONGEST_SECONDS = 600
# The versions of these are the project's: both sides compute with one library and exchange its arrays.
SHARED = ("numpy", "pyarrow")


class Unavailable(Exception):
    """A package cannot be had here; the text is a sentence that says why."""


class Package(ABC):
    """Something that a package manager brings."""

    @abstractmethod
    def fetch(self) -> str:
        """Bring it here unless it is here; returns its version, or raises `Unavailable`."""


def module(name: str) -> Any:
    """A module of a package that was fetched."""
    return importlib.import_module(name)


def run(command: Sequence[str | Path], what: str, **more: Any) -> str:
    """What a command of a package manager prints; `Unavailable` with its complaint if it fails."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
            **more,
        )
    except FileNotFoundError:
        raise Unavailable(f"{what} cannot be had: {command[0]} is not installed.") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{what} cannot be had: it took more than {LONGEST_SECONDS} s.") from None
    if done.returncode:
        raise Unavailable(f"{what} cannot be had: {complaint(done.stderr or done.stdout)}")
    return str(done.stdout)


def complaint(text: str) -> str:
    """The line of an error that says most, without addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|forbidden|not available|not found|no matching", line, re.I)]
    line = (telling or lines or ["no reason was given"])[-1]
    return re.sub(r"\w+://\S+", "its address", line)[:200].rstrip(".") + "."


@dataclass(frozen=True)
class Here(Package):
    """A package that Skyband itself needs."""

    distribution: str

    def fetch(self) -> str:
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            raise Unavailable(f"{self.distribution} is not installed; `make` installs it.") from None


@dataclass(frozen=True)
class Wheel(Package):
    """A package of Python, in a virtual environment of the peers."""

    distribution: str

    def fetch(self) -> str:
        folder = FOLDER / "venv"
        site = _site(folder)
        found = _version(self.distribution, site)
        if found is None:
            _install(self.distribution, folder)
            found = _version(self.distribution, site)
        if str(site) not in sys.path:
            # At the end: what both environments have is taken from the project's.
            sys.path.append(str(site))
            importlib.invalidate_caches()
        return found or "unknown"


def _site(folder: Path) -> Path:
    release = f"python{sys.version_info.major}.{sys.version_info.minor}"
    parts = ("Lib", "site-packages") if os.name == "nt" else ("lib", release, "site-packages")
    return folder.absolute().joinpath(*parts)


def _version(distribution: str, site: Path) -> str | None:
    found = importlib.metadata.distributions(name=distribution, path=[str(site)])
    return next((each.version for each in found), None)


def _install(distribution: str, folder: Path) -> None:
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
    pinned = FOLDER / "shared.txt"
    pinned.write_text("".join(f"{name}=={importlib.metadata.version(name)}\n" for name in SHARED), encoding="utf-8")
    options = ["--quiet", "--only-binary", ":all:", "--constraint", str(pinned)]
    run([python, "-m", "pip", "install", *options, distribution], distribution)


@dataclass(frozen=True)
class MavenArtifact(Package):
    """A library of Java with all that it needs, and the one class of ours that drives it, compiled."""

    group: str
    artifact: str
    release: str
    source: Path

    @property
    def folder(self) -> Path:
        return (FOLDER / self.artifact).absolute()

    @property
    def class_path(self) -> str:
        return os.pathsep.join([str(self.folder / "classes"), str(self.folder / "jars" / "*")])

    def fetch(self) -> str:
        if not (self.folder / "jars" / f"{self.artifact}-{self.release}.jar").exists():
            self._download()
        self._compile()
        return self.release

    def _download(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        project = self.folder / "pom.xml"
        project.write_text(_project(self.group, self.artifact, self.release), encoding="utf-8")
        goal = [f"-DoutputDirectory={self.folder / 'jars'}", f"-Dmaven.repo.local={self.folder / 'repository'}"]
        run(["mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies", *goal], self.artifact)

    def _compile(self) -> None:
        made = self.folder / "classes" / f"{self.source.stem}.class"
        if not made.exists() or made.stat().st_mtime < self.source.stat().st_mtime:
            run(["javac", "-cp", self.class_path, "-d", made.parent, self.source], f"The program for {self.artifact}")


def _project(group: str, artifact: str, release: str) -> str:
    wanted = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{release}</version>"
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>peers</groupId><artifactId>peers</artifactId>"
        f"<version>1</version><dependencies><dependency>{wanted}</dependency></dependencies></project>\n"
    )


@dataclass(frozen=True)
class Programs(Package):
    """Programs that a package of the operating system has brought."""

    names: tuple[str, ...]
    folders: str
    package: str

    @property
    def folder(self) -> Path:
        """Where the programs are: the newest of the folders that a pattern of paths matches, or one on the PATH."""
        on_path = shutil.which(self.names[0])
        candidates = sorted(Path("/").glob(self.folders.lstrip("/")), reverse=True)
        candidates += [Path(on_path).resolve().parent] if on_path else []
        for candidate in candidates:
            if all((candidate / name).exists() for name in self.names):
                return candidate
        raise Unavailable(f"{' and '.join(self.names)} are not installed; Debian's package {self.package} has them.")

    def fetch(self) -> str:
        told = run([self.folder / self.names[0], "--version"], self.package)
        return next(iter(re.findall(r"\d+(?:\.\d+)+", told)), "unknown")
