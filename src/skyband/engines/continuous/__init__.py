"""Continuous top-k: one skeleton, and the parts that its engines combine."""
