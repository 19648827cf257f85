"""The engines, each a way to keep the answers of one family; found by walking this package."""
