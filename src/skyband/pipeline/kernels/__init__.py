"""Kernels of the pipeline: what is decided row by row, each by what the rows before have done."""
