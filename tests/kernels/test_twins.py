"""A kernel is compiled once, and not for every width of integer or literal that it is called with."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.jit_only

# In a process of its own: other tests call kernels with whatever they like.
CHILD = """
import gc, json
from skyband.kernels.dispatch import Kernel
from skyband.testing import check_stream

for family in ("window", "geotext", "ranges"):
    for seed in range(3):
        check_stream(family, seed, rare=True)
kernels = [found for found in gc.get_objects() if isinstance(found, Kernel)]
twins = {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in kernels}
print(json.dumps({name: n for name, n in twins.items() if n > 0}))
"""


def test_kernels_have_no_twins_but_for_what_is_searched() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    n_compiled = json.loads(done.stdout)
    assert len(n_compiled) > 50
    # Windows search cells and geotext searches terms: the workspace of a step is of two types.
    step = "skyband.topk.kernels.step"
    assert {name: n for name, n in n_compiled.items() if n > 1} == dict.fromkeys(
        (f"{step}.step", f"{step}.answer", f"{step}.mend"), 2
    )
