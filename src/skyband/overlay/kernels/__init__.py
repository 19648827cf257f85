"""Compiled loops of the overlay, one file per data structure."""
