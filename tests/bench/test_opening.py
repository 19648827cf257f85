"""Options that whoever runs a benchmark gives to its engines."""

import pytest

from skyband.bench.opening import given_options, giving, open_engine


def test_engines_take_what_they_have_and_the_benchmark_does_not_say() -> None:
    with giving({"cells": "5", "index": "grid", "sigma": "0.5"}) as given:
        blocks = open_engine("window", "blocks", index="blocks")
        open_engine("window", "scan")
        assert given_options() == {"cells": "5", "index": "grid", "sigma": "0.5"}
    assert blocks._options() == {"index": "blocks", "cells": 5}
    assert given.untaken == ["index", "sigma"]
    assert given_options() == {}
    assert open_engine("window", "blocks")._options() == {"index": "blocks", "cells": None}


def test_an_option_that_no_engine_has() -> None:
    told = r"^None of the engines has an option 'cell'; their options are access, algorithm, .*cells, "
    with pytest.raises(ValueError, match=told), giving({"cell": "5"}):
        pass
