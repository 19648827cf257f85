"""How hard the tests try, chosen by SKYBAND_PROFILE: dev, quick, ci, coverage, soak or hunt; see docs/testing.md."""

import os
import signal

import pytest
from hypothesis import HealthCheck, Phase, settings

# No deadline and no complaint of slowness: the first example of a test may compile a kernel.
EVERYWHERE = settings(
    deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

settings.register_profile("dev", EVERYWHERE, max_examples=25, stateful_step_count=30)
settings.register_profile("ci", EVERYWHERE, max_examples=8, stateful_step_count=20, derandomize=True)
settings.register_profile("quick", EVERYWHERE, max_examples=2, stateful_step_count=10, derandomize=True)
settings.register_profile("coverage", EVERYWHERE, max_examples=4, stateful_step_count=12, derandomize=True)
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
PROFILE = os.environ.get("SKYBAND_PROFILE", "dev")
settings.load_profile(PROFILE)


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the commands that tests start, and a soak go on where it was stopped."""
    # What a shell runs in the background ignores Ctrl-C, or hanging up, and hands that on to what it starts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if PROFILE == "soak":
        from tests.resuming import LOG, ROOT, Resuming, Sources

        config.pluginmanager.register(Resuming(config, LOG, Sources(ROOT)), "resuming")
    if PROFILE == "ci":
        from tests.counting import Counting

        config.pluginmanager.register(Counting(), "counting")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave some tests to the soak, and in a run without the JIT most parameters of a test to compiled runs."""
    # Those who look for planted faults run this from elsewhere, where there is no `tests`, and have chosen already.
    if PROFILE == "hunt":
        return
    from tests.choosing import Choice

    choice = Choice(PROFILE)
    for item in choice.for_soak(items):
        item.add_marker("soak")
    left_out = set(choice.left_out(items))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
