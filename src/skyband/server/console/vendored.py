"""Vendored files: those of other projects that the console is served with, in one list with versions and hashes.

`python -m skyband.server.console.vendored` fetches them anew with npm, and writes down what it got.
"""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class VendoredFile(NamedTuple):
    """A file, where it is from, and what it must be."""

    name: str
    package: str
    version: str
    path: str
    licence: str
    sha256: str


class VendoredFolder(NamedTuple):
    """A folder with files of others, and the list that says what they have to be."""

    list: Path
    folder: Path

    def files(self) -> tuple[VendoredFile, ...]:
        """The files of the list."""
        return tuple(VendoredFile(**entry) for entry in tomllib.loads(self.list.read_text(encoding="utf-8"))["file"])

    def differences(self) -> tuple[str, ...]:
        """What is not as the list says, in sentences; none where all is well."""
        files = {file.name: file for file in self.files()}
        there = {path.name for path in self.folder.iterdir()}
        found = [f"{name} is not in the list." for name in sorted(there - set(files))]
        found += [f"{name} is missing." for name in sorted(set(files) - there)]
        for name in sorted(there & set(files)):
            if _hash((self.folder / name).read_bytes()) != files[name].sha256:
                found.append(f"{name} is not the file that the list has the hash of.")
        return tuple(found)

    def update(self) -> None:
        """Fetch every file in the version that the list names, and write its hash."""
        text = self.list.read_text(encoding="utf-8")
        packages: dict[tuple[str, str], bytes] = {}
        self.folder.mkdir(exist_ok=True)
        for file in self.files():
            key = file.package, file.version
            packages[key] = packages.get(key) or _packed(*key)
            with tarfile.open(fileobj=io.BytesIO(packages[key])) as tar:
                member = tar.extractfile(f"package/{file.path}")
                assert member is not None
                data = member.read()
            (self.folder / file.name).write_bytes(data)
            entry = rf'(name = "{re.escape(file.name)}"\n(?:.+\n)*?sha256 = ")[0-9a-f]*'
            text = re.sub(entry, rf"\g<1>{_hash(data)}", text)
        self.list.write_text(text, encoding="utf-8")


CONSOLE = VendoredFolder(HERE / "vendored.toml", HERE / "static" / "vendor")


def _packed(package: str, version: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{package}@{version}"], cwd=folder, check=True, capture_output=True)
        (path,) = Path(folder).iterdir()
        return path.read_bytes()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    CONSOLE.update()
    sys.exit("\n".join(CONSOLE.differences()) or None)
