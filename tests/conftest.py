"""Hypothesis profiles: how hard the random tests try, chosen by SKYBAND_PROFILE (dev, ci, coverage, soak, hunt)."""

import os
import signal
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, Phase, settings

# No deadline and no complaint of slowness: the first example of a test may compile a kernel.
EVERYWHERE = settings(
    deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

settings.register_profile("dev", EVERYWHERE, max_examples=25, stateful_step_count=30)
settings.register_profile("ci", EVERYWHERE, max_examples=8, stateful_step_count=20, derandomize=True)
settings.register_profile("coverage", EVERYWHERE, max_examples=6, stateful_step_count=12, derandomize=True)
settings.register_profile("soak", EVERYWHERE, max_examples=100, stateful_step_count=60)
# Only to find out whether something is wrong, not the smallest example of it.
settings.register_profile(
    "hunt",
    EVERYWHERE,
    max_examples=150,
    stateful_step_count=20,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)
settings.load_profile(os.environ.get("SKYBAND_PROFILE", "dev"))


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the commands that tests start, and a soak go on where it was stopped."""
    # What a shell runs in the background ignores Ctrl-C, or hanging up, and hands that on to what it starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if os.environ.get("SKYBAND_PROFILE") == "soak":
        from tests.resuming import FOLDER, ROOT, Resuming, sources_digest

        config.pluginmanager.register(Resuming(config, FOLDER / f"{sources_digest(ROOT)}.txt"), "resuming")


# Without the JIT a test is run for so many of its parameters, spread evenly: all of them are run compiled.
MOST_WITHOUT_JIT = 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most parameters of a test in the coverage run, which takes several times as long for each."""
    if os.environ.get("SKYBAND_PROFILE") != "coverage":
        return
    by_test: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        by_test[item.nodeid.split("[")[0]].append(item)
    kept = set()
    for same in by_test.values():
        n = min(len(same), MOST_WITHOUT_JIT)
        kept |= {same[i * (len(same) - 1) // max(n - 1, 1)] for i in range(n)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
