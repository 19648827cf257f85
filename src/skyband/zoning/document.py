"""JSON documents that say what they are, and of which version."""

import json
from collections.abc import Mapping
from typing import Any


def write_document(noun: str, version: int, content: Mapping[str, Any]) -> str:
    """The content as JSON, under a heading that `read_document` looks for."""
    return json.dumps({"format": _format(noun), "version": version, **content})


def read_document(noun: str, version: int, text: str, advice: str) -> dict[str, Any]:
    """The content of a document; `ValueError` with the advice if the text is not one of that noun and version."""
    try:
        content: Any = json.loads(text)
        fits = content["format"] == _format(noun) and content["version"] == version
    except (ValueError, TypeError, KeyError):
        fits = False
    if not fits:
        raise ValueError(f"This is not {noun} of version {version}; {advice}.")
    return dict(content)


def _format(noun: str) -> str:
    return "skyband-" + noun.split()[-1]
