"""Compiled loops of continuous top-k, one file per data structure."""
