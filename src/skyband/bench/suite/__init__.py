"""The benchmarks: tables of experiments, one for each paper or subject; found by walking this package."""
