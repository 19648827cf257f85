"""The benchmarks, one module each; found by walking this package."""
