"""The engines of the Skype paper, and ours: an index, a buffer policy and the store, combined and named."""

from skyband.engines.geotext.combination import GeotextBlocks, GeotextCiq, GeotextSkype

__all__ = ["GeotextBlocks", "GeotextCiq", "GeotextSkype"]
