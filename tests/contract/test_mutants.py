"""The contract suite fails when an engine is wrong: small faults are put into a copy of it, and each is found.

Each fault is a process or two of several seconds, so that `make test` puts in those whose file has changed since the
branch began, or all of them if what finds them has changed: the suite, what draws its rows, or this file. Where nothing
of that has, or git cannot tell, it is a fixed sample, one fault for each family and one for streams. `make soak` puts
in all of them. That every fault still has its place in the sources is checked each time.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import skyband
from tests.changed import changed_files

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(skyband.__file__).parent
SUITE = Path(__file__).with_name("test_contract.py")

FAULTS = {
    "the older of equals first": (
        "kernels/heap.py",
        "(key_a == key_b and stamp_a < stamp_b)",
        "(key_a == key_b and stamp_a > stamp_b)",
        "window-scan-unbounded-batch",
    ),
    "expired one step too late": ("topk/kernels/buffer.py", "age <= cut", "age < cut", "window-scan-time-batch"),
    "one publication more than the window": (
        "topk/kernels/scan.py",
        "latest - rules.window_size[slot]",
        "latest - rules.window_size[slot] - 1",
        "window-scan-count-batch",
    ),
    "delivered twice": ("topk/kernels/buffer.py", "not marks[at] & DELIVERED", "True", "window-scan-count-publication"),
    "the weights of a subscriber's words do not count": (
        "topk/kernels/score.py",
        "relevance += weights[at] * weight",
        "relevance += weight",
        "geotext-scan-time-batch",
    ),
    "ranges without their left end": (
        "ranges/kernels/range_scan.py",
        "lo[j, i] <= x[j]",
        "lo[j, i] < x[j]",
        "ranges-scan-unbounded-batch",
    ),
    "what a row lost counts for the first life of the batch": (
        "topk/delivery_memory.py",
        "life = bisect_left(self._ends.get(item, ()), step)",
        "life = 0",
        "ranges-scan-unbounded-publication",
    ),
    "a candidate is given up with a dominator too few": (
        "topk/kernels/band.py",
        "full = bands.head[slot, K] * ONE_DOMINATOR",
        "full = (bands.head[slot, K] - 1) * ONE_DOMINATOR + 1",
        "window-skyband-count-batch",
    ),
    "ties with the bound are shut out": (
        "topk/kernels/band.py",
        "key < bound or (key == bound and tied)",
        "key < bound",
        "window-sma-count-publication",
    ),
    "the row's worst is let go of without a note": (
        "topk/kernels/band.py",
        "remember(deliveries, turn, bands.item[last])",
        "pass",
        "window-tma-count-publication",
    ),
    "a retracted publication stays a candidate": (
        "topk/kernels/step.py",
        "        if best < 0:\n",
        "        if best < 0 or best >= bands.head[slot, K]:\n",
        "window-skyband-time-batch",
    ),
    "a search finds what was retracted": (
        "topk/kernels/scan.py",
        "if live.stamp[p] < live.floor or ages[p] <= cut:",
        "if ages[p] <= cut:",
        "window-scan-unbounded-batch",
    ),
    "the k-skyband of everything has what was retracted": (
        "topk/kernels/refill.py",
        "        if live.stamp[index] < live.floor:\n            continue\n",
        "",
        "window-skyband-unbounded-batch",
    ),
    "the id of a retracted publication stays taken": (
        "topk/store.py",
        "        self.ids.remove(indices)\n",
        "",
        "window-scan-unbounded-batch",
    ),
    "a late arrival brings back what was retracted": (
        "topk/kernels/timeline.py",
        "stamps[moved - base] += i + 1",
        "stamps[moved - base] = (stamps[moved - base] & ((1 << 62) - 1)) + i + 1",
        "window-scan-count-batch",
    ),
    "what comes back by a retraction is delivered again": (
        "topk/skeleton.py",
        "        self._earlier.recall()\n        store.retract(indices)\n",
        "        store.retract(indices)\n",
        "window-skyband-unbounded-batch",
    ),
    "what a retracted entry kept out stays out": (
        "topk/kernels/step.py",
        "    if best < k:\n        return True\n",
        "    if best < k:\n        return bands.gauge[slot, BOUND] < np.inf\n",
        "geotext-blocks-unbounded-batch",
    ),
    "a message is found once for every word that it shares": (
        "geotext/kernels/posting_search.py",
        "        if _find(contents.terms, message, keywords[other, TERM]) >= 0:\n            return False\n",
        "",
        "geotext-blocks-count-batch",
    ),
    "the other words of a subscription have no bits": (
        "geotext/kernels/posting.py",
        "more_bits |= other_bit_of(",
        "more_bits &= other_bit_of(",
        "geotext-blocks-count-batch",
    ),
    "only one leaf that has a word is looked at": (
        "geotext/kernels/dissemination.py",
        "                    return n\n            of = head[of, AFTER]",
        "                    return n\n            of = NO_LIST",
        "geotext-skype-count-batch",
    ),
    "the cell across is taken for the one below": (
        "geotext/kernels/ciq.py",
        "(down & 1) << 1 | (across & 1)",
        "(across & 1) << 1 | (down & 1)",
        "geotext-ciq-count-batch",
    ),
    "a word that comes twice in a batch is counted once": (
        "topk/vocabulary.py",
        "count_up(self._n_uses, codes)",
        "self._n_uses[codes] += 1",
        "geotext-blocks-count-batch",
    ),
    "a search finds a message by each of its words": (
        "topk/kernels/term_search.py",
        "if rank > 0 and words[j, RANK] < rank:",
        "if False:",
        "geotext-blocks-time-batch",
    ),
    "a message is promised by each of its words": (
        "topk/kernels/term_search.py",
        "if least[i] < promised[0] and entries[lo + i, SAID] & earlier == 0:",
        "if least[i] < promised[0]:",
        "geotext-blocks-time-batch",
    ),
    "a share of the score is taken off on the wrong side": (
        "topk/kernels/refill.py",
        "return key + slack * abs(key)",
        "return key - slack * abs(key)",
        "geotext-skype-unbounded-batch-skyband",
    ),
    "the smaller id first": (
        "kernels/id_order.py",
        "return np.array(ids.to_numpy(), np.int64)",
        "return -np.array(ids.to_numpy(), np.int64)",
        "ranked-scan-unbounded-batch-3-relaxed",
    ),
    "a budget lasts for one answer more": (
        "ranked/kernels/interval_scan.py",
        "if budget[slot] > 0:\n            budget[slot] -= 1\n            if budget[slot] == 0:",
        "if budget[slot] >= 0:\n            budget[slot] -= 1\n            if budget[slot] < 0:",
        "ranked-scan-unbounded-batch-3-exact",
    ),
    "a missing dimension meets nothing": (
        "ranked/kernels/interval_scan.py",
        "begin, last = -np.inf, np.inf",
        "continue",
        "ranked-scan-unbounded-batch-3-relaxed",
    ),
}


# What only longer streams find: the family, the engine, and what its process says.
STREAM_FAULTS = {
    "a subtree whose bound equals its gate is passed over": (
        "window/kernels/block_tree.py",
        "if bound[i] <= gate[i] and",
        "if bound[i] < gate[i] and",
        ("window", "blocks", "AssertionError"),
    ),
    "what leaves the most recent ones is forgotten": (
        "topk/kernels/step.py",
        "leaver += 1",
        "leaver = waiting.end",
        ("window", "sasf", "AssertionError"),
    ),
    "the pool is given less room than was asked for": (
        "topk/bands.py",
        "length = used + ample(n, n if n_got >= 4 * n else more)",
        "length = used + n // 4",
        ("window", "blocks", "NoProgress"),
    ),
    "a row asks for half of the room that it needs": (
        "topk/kernels/step.py",
        "bands.end[0] + wanted[PLACES] <= bands.end[1]",
        "bands.end[0] + 2 * wanted[PLACES] <= bands.end[1]",
        ("geotext", "blocks", "NoProgress"),
    ),
    "a kernel is called again and again for nothing": (
        "kernels/room.py",
        "        if n_stops > tries:\n            raise NoProgress(here)\n",
        "        last = here\n        continue\n",
        ("window", "skyband", "TimeIsUp"),
    ),
}


# Sources of the package and of the tests, by how their paths begin or end: whatever finds faults.
FINDERS = (
    "src/skyband/testing/",
    "src/skyband/workload/",
    "/draw.py",
    "tests/contract/test_contract.py",
    "tests/contract/test_mutants.py",
)
SAMPLE = {
    "the older of equals first",
    "the weights of a subscriber's words do not count",
    "ranges without their left end",
    "a missing dimension meets nothing",
    "what leaves the most recent ones is forgotten",
}


def chosen(faults: Mapping[str, tuple[Any, ...]], changed: set[str] | None) -> list[str]:
    """The faults to put in after a change to these files, see above."""
    changed = changed or set()
    if any(path.startswith(FINDERS) or path.endswith(FINDERS) for path in changed):
        return list(faults)
    touched = [name for name, (file, *_) in faults.items() if f"src/skyband/{file}" in changed]
    return touched or [name for name in faults if name in SAMPLE]


CHANGED = changed_files(ROOT)


def _spoil(folder: Path, file: str, right: str, wrong: str) -> None:
    """Put a copy of the package with a fault in it into the folder."""
    copy = folder / "skyband"
    # With what is compiled already: only the changed file, which is newer, is compiled anew.
    shutil.copytree(SOURCE, copy)
    text = (copy / file).read_text()
    assert right in text, f"{file} has no {right!r} any more: name the place anew."
    (copy / file).write_text(text.replace(right, wrong))


def check_that_streams_find(fault: str, tmp_path: Path) -> None:
    """Put a fault in, and see that a stream of one of the first hundred seeds finds it."""
    *places, (family, name, said) = STREAM_FAULTS[fault]
    _spoil(tmp_path, *places)
    look = f"[check_stream({family!r}, seed, names=({name!r},)) for seed in range(100)]"
    found = subprocess.run(
        [sys.executable, "-c", f"from skyband.testing import check_stream\n{look}"],
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "NUMBA_DISABLE_JIT": "1",
            "SKYBAND_ACTION_SECONDS": "10",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert said in found.stderr
    assert f"check_stream({family!r}, " in found.stderr


def check_that_the_suite_finds(fault: str, tmp_path: Path) -> None:
    """Put a fault in, and see that the state machine finds it."""
    *places, case = FAULTS[fault]
    _spoil(tmp_path, *places)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", str(SUITE), *options, "-k", f"oracle and {case}"],
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "NUMBA_DISABLE_JIT": "1",
            "SKYBAND_PROFILE": "hunt",
            # The suite needs none of them, and they take a third of the time.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    assert "1 failed" in found.stdout


@pytest.mark.jit_only
@pytest.mark.parametrize("fault", chosen(FAULTS, CHANGED))
def test_the_suite_finds(fault: str, tmp_path: Path) -> None:
    check_that_the_suite_finds(fault, tmp_path)


@pytest.mark.jit_only
@pytest.mark.parametrize("fault", chosen(STREAM_FAULTS, CHANGED))
def test_streams_find(fault: str, tmp_path: Path) -> None:
    check_that_streams_find(fault, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
def test_the_suite_finds_every_fault(fault: str, tmp_path: Path) -> None:
    check_that_the_suite_finds(fault, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("fault", STREAM_FAULTS)
def test_streams_find_every_fault(fault: str, tmp_path: Path) -> None:
    check_that_streams_find(fault, tmp_path)


@pytest.mark.parametrize(("file", "right"), [places[:2] for places in (FAULTS | STREAM_FAULTS).values()])
def test_every_fault_has_its_place(file: str, right: str) -> None:
    assert right in (SOURCE / file).read_text(), f"{file} has no {right!r} any more: name the place anew."


def test_faults_are_chosen_by_what_changed() -> None:
    both = FAULTS | STREAM_FAULTS
    assert set(both) >= SAMPLE
    assert set(chosen(both, None)) == set(chosen(both, {"README.md", "src/skyband/cli/warm.py"})) == SAMPLE
    assert chosen(both, {"src/skyband/geotext/kernels/ciq.py"}) == ["the cell across is taken for the one below"]
    assert len(chosen(FAULTS, {"src/skyband/topk/kernels/band.py", "src/skyband/cli/warm.py"})) == 3
    for finder in ("src/skyband/testing/machine.py", "src/skyband/ranges/draw.py", "tests/contract/test_mutants.py"):
        assert chosen(both, {finder}) == list(both)


def test_the_sample_has_a_fault_of_each_family_and_one_for_streams() -> None:
    families = {FAULTS[name][-1].partition("-")[0] for name in SAMPLE & set(FAULTS)}
    assert families == {places[-1].partition("-")[0] for places in FAULTS.values()}
    assert SAMPLE & set(STREAM_FAULTS)
