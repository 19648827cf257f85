"""The pipeline: publications and subscriptions in, changes out, as one Spark job.

`Pipeline(load_config("pipeline.yaml"))` is one; `start` begins it, `wait` waits for its end.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.log import Log
    from skyband.pipeline.backfill import backfill
    from skyband.pipeline.config import BadConfiguration, Config, Endpoint, Ids, load_config, make_config
    from skyband.pipeline.fit import fit_words, fit_zoning
    from skyband.pipeline.replay import replay_on_spark
    from skyband.pipeline.run import Pipeline, PipelineFailed
    from skyband.pipeline.sink import SinkFailed, read_changes, read_tops
    from skyband.pipeline.state.folder import State, StateError

__all__ = [
    "BadConfiguration",
    "Config",
    "Endpoint",
    "Ids",
    "Log",
    "Pipeline",
    "PipelineFailed",
    "SinkFailed",
    "State",
    "StateError",
    "backfill",
    "fit_words",
    "fit_zoning",
    "load_config",
    "make_config",
    "read_changes",
    "read_tops",
    "replay_on_spark",
]

# Imported when first asked for: a configuration can be read, and a state looked at, without Spark.
_HOMES = {
    "BadConfiguration": "config",
    "Config": "config",
    "Endpoint": "config",
    "Ids": "config",
    "load_config": "config",
    "make_config": "config",
    "Pipeline": "run",
    "PipelineFailed": "run",
    "SinkFailed": "sink",
    "read_changes": "sink",
    "read_tops": "sink",
    "State": "state.folder",
    "StateError": "state.folder",
    "backfill": "backfill",
    "fit_words": "fit",
    "fit_zoning": "fit",
    "replay_on_spark": "replay",
}


def __getattr__(name: str) -> Any:
    if name == "Log":
        return importlib.import_module("skyband.log").Log
    if name in _HOMES:
        return getattr(importlib.import_module(f"skyband.pipeline.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skyband.pipeline' has no attribute {name!r}")
