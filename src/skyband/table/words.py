"""Words and their weights: a tokeniser for any script, and tf-idf of unit length."""

import hashlib
import json
import math
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from skyband.table.reject import shorten
from skyband.table.write import replacing

T = TypeVar("T")

FORMAT = "skyband-words"
VERSION = 1
# Beyond this, a share of documents would no longer be a number.
MOST_DOCUMENTS = 2**63
APOSTROPHES = "'\u2019\u02bc"


def tokenise(text: str) -> list[str]:
    """The words of a text in order: runs of letters, digits and marks, in one case and one form.

    Apostrophes inside a word are left out of it: "Don't" is one word, "dont".
    """
    # Folding the case can undo the normal form, and the apostrophe U+02BC is a letter to Unicode.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    joined = folded.translate(_JOIN)
    return "".join(char if _in_word(char) else " " for char in joined).split()


_JOIN = {ord(apostrophe): None for apostrophe in APOSTROPHES}
_CATEGORIES: dict[str, bool] = {}


def _in_word(char: str) -> bool:
    known = _CATEGORIES.get(char)
    if known is None:
        known = _CATEGORIES[char] = unicodedata.category(char)[0] in "LMN"
    return known


class Words(NamedTuple):
    """How many documents there were, and in how many of them each word occurred.

    A word weighs tf · ln(1 + N / df), where an unknown word has df = 1, so that every weight is positive.
    """

    documents: int
    frequencies: Mapping[str, int]

    @classmethod
    def fit(cls, documents: Iterable[Sequence[str]]) -> Self:
        """Count the words of documents that are already split into words."""
        n_documents, frequencies = 0, Counter[str]()
        for tokens in _each(documents, "documents", "each is a list of words, and for texts there is fit_texts"):
            n_documents += 1
            if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
                given = shorten(tokens)
                raise ValueError(
                    f"Document {n_documents} is {given} and not a list of words; for texts there is fit_texts."
                )
            frequencies.update(set(tokens))
        return cls(n_documents, dict(frequencies))

    @classmethod
    def fit_texts(cls, texts: Iterable[str]) -> Self:
        """Count the words of texts."""
        return cls.fit(map(_tokens, _each(texts, "texts", "one text is a list of one")))

    @property
    def version(self) -> str:
        """A name for these counts: equal counts have the same, others another."""
        digest = hashlib.sha256(str(self.documents).encode())
        for word, n in sorted(self.frequencies.items()):
            digest.update(f"\0{word}\0{n}".encode())
        return digest.hexdigest()[:12]

    def updated(self, documents: Iterable[Sequence[str]]) -> Self:
        """A model that has counted these documents too; this one stays as it is."""
        more = self.fit(documents)
        frequencies = Counter(self.frequencies)
        frequencies.update(more.frequencies)
        return type(self)(self.documents + more.documents, dict(frequencies))

    def drift(self, newer: Self) -> float:
        """How far another model would move weights: the change of a word's idf, averaged over the words of its texts.

        It is a share of the average idf there: 0 for a model that weighs alike.
        """
        moved = total = 0.0
        for word, n in newer.frequencies.items():
            idf = newer.idf(word)
            moved += n * abs(idf - self.idf(word))
            total += n * idf
        return moved / total if total else 0.0

    def tokens(self, text: str) -> list[str]:
        """The words of a text, in order, repeated as often as they occur."""
        return tokenise(text)

    def idf(self, word: str) -> float:
        """How much a word says: the rarer, the more."""
        return math.log1p(max(self.documents, 1) / self.frequencies.get(word, 1))

    def weigh(self, tokens: Sequence[str]) -> tuple[list[str], list[float]]:
        """The distinct words in order of first occurrence, and their weights: positive, of unit length."""
        counts = Counter(tokens)
        raw = [count * self.idf(word) for word, count in counts.items()]
        length = math.sqrt(math.fsum(weight * weight for weight in raw))
        return list(counts), [weight / length for weight in raw]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts as JSON, whole or not at all."""
        with replacing(Path(path)) as temporary:
            temporary.write_text(json.dumps(self.plain, ensure_ascii=False), encoding="utf-8")

    @property
    def plain(self) -> dict[str, Any]:
        """The counts as plain values, which `of` reads."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "counts": self.version,
            "documents": self.documents,
            "frequencies": dict(sorted(self.frequencies.items())),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(f"There is no file {os.fspath(path)}.") from None
        except ValueError:
            raise ValueError(f"{os.fspath(path)} is not a JSON file of words.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"{os.fspath(path)} is not a file of words.")
        return cls.of(content, os.fspath(path))

    @classmethod
    def of(cls, content: Mapping[str, Any], name: str = "words") -> Self:
        """What `plain` has told; a ValueError that begins with the name says what is wrong with it."""
        if content.get("version") != VERSION:
            version = content.get("version")
            raise ValueError(f"{name} has version {version} of the format; this is version {VERSION}.")
        words = cls(_count(content.get("documents"), name), _counts(content.get("frequencies"), name))
        if content.get("counts", words.version) != words.version:
            raise ValueError(f"{name} is damaged: its counts are not those of version {content['counts']}.")
        return words


def _each(given: Iterable[T], what: str, hint: str) -> Iterable[T]:
    """What is given, unless it is no list at all, or a text, which is a list of characters to Python."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"{shorten(given)} is not a list of {what}; {hint}.")
    return given


def _tokens(text: str) -> list[str]:
    if not isinstance(text, str):
        raise ValueError(f"{shorten(text)} is not a text; for lists of words there is fit.")
    return tokenise(text)


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_DOCUMENTS:
        raise ValueError(f"{name} is damaged: {value!r} is not a count.")
    return value


def _counts(value: object, name: str) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is damaged: it has no frequencies.")
    # A word that occurred in no document would divide by zero.
    return {word: max(_count(n, name), 1) for word, n in value.items()}
