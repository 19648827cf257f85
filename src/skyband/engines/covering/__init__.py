"""Covering: which subscriptions stand for others, so that a broker passes on only those that nothing covers."""

from skyband.engines.covering.coverset import CoverSet
from skyband.engines.covering.grid import Domain
from skyband.engines.covering.proxies import ProxySet

__all__ = ["CoverSet", "Domain", "ProxySet"]
