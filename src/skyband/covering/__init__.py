"""Covering: which subscriptions stand for others, so that a broker passes on only those that nothing covers."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.covering.coverset import CoverSet
    from skyband.covering.grid import Domain
    from skyband.covering.proxies import ProxySet

__all__ = ["CoverSet", "Domain", "ProxySet"]

# Imported when first asked for: whoever reads rows need not wait for the compiler.
_HOMES = {"CoverSet": "coverset", "Domain": "grid", "ProxySet": "proxies"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"skyband.covering.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
