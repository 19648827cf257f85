"""Compiled loops of the ranked family, one file per data structure."""
