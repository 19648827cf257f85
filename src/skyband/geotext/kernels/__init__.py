"""Compiled loops of the geotext family, one file per data structure."""
