"""Stored pipelines go on in the Spark session of all tests."""

from tests.pipeline.shared import spark, spark_for_commands

__all__ = ["spark", "spark_for_commands"]
