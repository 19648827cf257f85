"""What a test run reports is added up by folder, file and test."""

from pathlib import Path

import pytest

from tests.times import main, most, read

REPORT = """<testsuites><testsuite>
<testcase classname="tests.topk.test_scan" name="test_a[1]" time="1.5" />
<testcase classname="tests.topk.test_scan" name="test_a[2]" time="2.0" />
<testcase classname="tests.topk.kernels.test_heap" name="test_b" time="1.0" />
<testcase classname="tests.cli.test_top" name="test_c" time="4.0" />
</testsuite></testsuites>"""


def test_times_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fast.xml").write_text(REPORT)
    tests = read(tmp_path / "fast.xml")
    assert most(tests, 2) == [("tests.topk", 4.5), ("tests.cli", 4.0)]
    assert most(tests, 9) == [
        ("tests.cli.test_top", 4.0),
        ("tests.topk.test_scan", 3.5),
        ("tests.topk.kernels.test_heap", 1.0),
    ]
    assert most(tests, 0)[1] == ("tests.topk.test_scan: test_a", 3.5)
    main([tmp_path / "fast.xml"])
    assert capsys.readouterr().out.startswith("fast: 4 tests, 8 s in all processes\n")
