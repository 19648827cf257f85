"""The ranges family: the k lowest objects in a range, kept by messages that are painted (the range top-k paper)."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.ranges.subscribers import SubscriberTable

__all__ = ["SubscriberTable"]


def __getattr__(name: str) -> Any:
    # Imported when first asked for: whoever reads rows need not wait for the compiler.
    if name in __all__:
        return getattr(importlib.import_module("skyband.ranges.subscribers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
