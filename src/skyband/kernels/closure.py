"""The closure of a module: its own source and those of all modules that it imports, directly or on the way.

Compiled code is made of these and of nothing else: a kernel reaches other kernels, constants and types by names that
its module imports. The closure is read off the text, so that it is known while the module itself is being imported.

- Only modules of known packages count, which are those of the modules that were added; a release of numpy is none.
- Imports within functions, and those for the type checker alone, count as all others do.
- A package's `__init__` counts where a name is taken from it, and not where it is on the way to a module. Otherwise any
  edit of the public API, which is in the `__init__` of Skyband, would be one of every kernel.
- Text that only looks like an import, in a docstring, adds a module at worst. What is imported by a string that is put
  together when it runs is not seen.

Each file is read once, when the first module that imports it is, so that a digest is that of the code that runs: an
edit that comes later is for later processes.
"""

import contextlib
import hashlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# The word alone is looked for, and its line from there. A pattern that begins with letters is found 50 times as fast as
# one that begins with \b: all kernels in half a millisecond.
_WORD = re.compile(r"import(?<!\wimport)\b")
_FROM = re.compile(r"\bfrom\b([\w.\s]*)$")
_NAMES = re.compile(r"\s*\(((?:[^)#]|#[^\n]*)*)\)|([^\n;]*)")
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"(?:^|,)\s*(\w[\w.]*|\*)")

Import = tuple[str, tuple[str, ...]]


def imports_of(text: str) -> Iterator[Import]:
    """What each import of a source names: a module, with its leading dots, and what is taken from it, if anything."""
    text = text.replace("\\\n", " ")
    for word in _WORD.finditer(text):
        names = _names_at(text, word.end())
        head = _FROM.search(text, text.rfind("\n", 0, word.start()) + 1, word.start())
        if head:
            yield head[1].strip(), names
        else:
            yield from ((name, ()) for name in names)


def _names_at(text: str, place: int) -> tuple[str, ...]:
    found = _NAMES.match(text, place)
    listed = "" if found is None else found[1] or found[2] or ""
    return tuple(_NAME.findall(_COMMENT.sub("", listed)))


class Source(NamedTuple):
    """One file as it was read."""

    digest: bytes
    imports: tuple[Import, ...]
    is_package: bool


def _read(path: Path) -> Source | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    imports = tuple(imports_of(content.decode("utf-8", "replace")))
    return Source(hashlib.sha256(content).digest(), imports, path.name == "__init__.py")


class Sources:
    """The sources of a few packages, each file read once; `n_edits` counts the files that were reloaded as others."""

    def __init__(self) -> None:
        self.n_edits = 0
        # Where each package lies that is followed, by its name.
        self._roots: dict[str, Path] = {}
        self._sources: dict[str, Source | None] = {}
        self._imported: dict[str, frozenset[str]] = {}

    def add(self, module: str, file: Path) -> None:
        """Read a module that is being imported, again if it was before, and follow its package from now on."""
        source = _read(file)
        if self._sources.get(module, source) != source:
            self.n_edits += 1
            self._imported.clear()
        self._sources[module] = source
        self._follow(module.split("."), file)

    def _follow(self, parts: list[str], file: Path) -> None:
        within = file.parent if file.name == "__init__.py" else file.with_suffix("")
        # A program that is run from a file has another name than its file.
        if parts[0] not in self._roots and within.parts[-len(parts) :] == tuple(parts):
            self._roots[parts[0]] = within.parents[len(parts) - 1]
            self._imported.clear()

    def closure(self, module: str) -> set[str]:
        """The module and all that it imports, directly or on the way; empty where it cannot be read."""
        found, waiting = set[str](), [module]
        while waiting:
            name = waiting.pop()
            if name not in found and self._source(name) is not None:
                found.add(name)
                waiting += self._imports(name)
        return found

    def digest(self, module: str, compiler: str) -> str:
        """A hash of the closure and of the compiler that will read it, wherever the files lie."""
        digest = hashlib.sha256(compiler.encode())
        for name in sorted(self.closure(module)):
            source = self._source(name)
            digest.update(name.encode() + b"\0" + (b"" if source is None else source.digest))
        return digest.hexdigest()[:16]

    def _source(self, module: str) -> Source | None:
        if module not in self._sources:
            parts = module.split(".")
            if parts[0] not in self._roots:
                return None
            path = self._roots[parts[0]].joinpath(*parts)
            self._sources[module] = _read(path / "__init__.py") or _read(path.with_name(f"{path.name}.py"))
        return self._sources[module]

    def _imports(self, module: str) -> frozenset[str]:
        if module not in self._imported:
            self._imported[module] = frozenset(self._resolved(module))
        return self._imported[module]

    def _resolved(self, module: str) -> Iterator[str]:
        source = self._source(module)
        if source is None:
            return
        package = module if source.is_package else module.rpartition(".")[0]
        for name, taken in source.imports:
            # What is beyond the top of the package could not be imported either.
            with contextlib.suppress(ImportError):
                yield from self._targets(importlib.util.resolve_name(name, package), taken)

    def _targets(self, module: str, taken: tuple[str, ...]) -> Iterator[str]:
        """The modules among the names that are taken from a module; it itself for all that are none."""
        source = self._source(module)
        for name in taken:
            inner = f"{module}.{name}"
            is_module = (source is None or source.is_package) and self._source(inner) is not None
            yield inner if is_module else module
        if not taken:
            yield module
