"""Compiled loops of the window family, one file per data structure."""
