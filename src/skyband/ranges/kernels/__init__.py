"""Compiled loops of the ranges family, one file per data structure."""
