"""Continuous top-k: the skeleton of engines over sliding windows, and the parts that they combine."""
