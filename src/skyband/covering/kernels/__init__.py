"""Compiled loops of covering, one file per data structure."""
