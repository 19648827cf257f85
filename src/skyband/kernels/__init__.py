"""Compiled loops over flat arrays, one file per data structure; `kernel` is the only way code is compiled."""
