"""Stages: prepare, route, match and merge, as the tasks of Spark run them."""
