"""A broker that has lost its folder, and one whose folder is older than what others know of it."""

import shutil
import time
from pathlib import Path

from tests.broker.processes import at, eventually, near
from tests.broker.threads import asking, chart_of, link, running


def test_a_lost_folder_is_begun_anew_and_heard(tmp_path: Path) -> None:
    chart = chart_of(tmp_path)
    with running(chart, "berlin") as (berlin,), asking(berlin) as here:
        here.subscribe([near("s", 0, 0, k=3)])
        with running(chart, "oslo") as (oslo,), asking(oslo) as there:
            (before,) = there.publish([at(1, 1, 1)])
            eventually(lambda: [entry.publication for entry in here.top().rows] == [1])
        shutil.rmtree(tmp_path / "oslo-data")
        # Lives that begin without a journal are numbered by seconds.
        time.sleep(1.0)
        with running(chart, "oslo") as (oslo,), asking(oslo) as there:
            (after,) = there.publish([at(2, 0, 0)])
            assert after.number > before.number
            eventually(lambda: [entry.publication for entry in here.top().rows] == [2, 1])


def test_an_older_copy_is_refused(tmp_path: Path) -> None:
    chart, folder = chart_of(tmp_path), tmp_path / "oslo-data"
    with running(chart, "berlin") as (berlin,):
        for life in range(3):
            with running(chart, "oslo"):
                eventually(lambda: link(berlin, "oslo")["is_connected"])
            if life == 0:
                shutil.copytree(folder, tmp_path / "copy")
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "copy", folder)
        with running(chart, "oslo") as (oslo,):
            said = "its journal was replaced by an older copy"
            eventually(lambda: said in link(oslo, "berlin")["trouble"])
