"""Cases: which engines are checked, and in which surroundings."""

from itertools import product
from typing import Any, NamedTuple

from skyband.contract import FAMILIES, AnyEngine, Granularity, engines, find_engine
from skyband.table import UNBOUNDED, OnError, Settings, Window
from skyband.workload.draw import draws_of

WINDOWS = {
    "time": Window.time(5),
    "count": Window.count(4),
    "unbounded": UNBOUNDED,
}


class Case(NamedTuple):
    """An engine with a default window, what changes are netted over, and the options of its family.

    Of two cases one has two threads.
    """

    engine: type[AnyEngine]
    window: str
    granularity: Granularity
    options: tuple[tuple[str, Any], ...] = ()
    threads: int = 1

    def __str__(self) -> str:
        options = "".join(f"-{value}" for _, value in self.options)
        threads = "-threads" if self.threads > 1 else ""
        return f"{self.engine.family}-{self.engine.name}-{self.window}-{self.granularity}{options}{threads}"

    def open(self, on_error: OnError = "collect") -> AnyEngine:
        """A new engine of this case."""
        return self._open(self.engine, self.granularity, on_error)

    def open_oracle(self) -> AnyEngine:
        """The oracle for it, with those of its options that say what the answer is and not how it is found."""
        oracle = find_engine(self.engine.family, FAMILIES[self.engine.family].oracle)
        known = oracle()._options()
        options = tuple((name, value) for name, value in self.options if name in known)
        return self._replace(options=options)._open(oracle, self.granularity, "collect")

    def with_granularity(self, granularity: Granularity) -> "Case":
        """The same case, netting over something else."""
        return self._replace(granularity=granularity)

    def with_threads(self, threads: int) -> "Case":
        """The same case, its work divided among so many threads."""
        return self._replace(threads=threads)

    def _open(self, kind: type[AnyEngine], granularity: Granularity, on_error: OnError) -> AnyEngine:
        settings = Settings(dims=draws_of(kind.family).dims, window=WINDOWS[self.window])
        return kind(settings, granularity=granularity, on_error=on_error, threads=self.threads, **dict(self.options))


def contract_cases(rare: bool = False) -> list[Case]:
    """Every exact engine but the oracle, in every window kind, granularity and mode of its family.

    With `rare`, in the modes that are for long runs too.
    """
    cases = []
    for engine in engines():
        if engine.exact and engine.name != FAMILIES[engine.family].oracle:
            cases += _cases_of(engine, engine.modes + (engine.rare_modes if rare else ()))
    return cases


def _cases_of(engine: type[AnyEngine], options: tuple[dict[str, Any], ...]) -> list[Case]:
    modes = [tuple(mode.items()) for mode in options]
    family = FAMILIES[engine.family]
    windows = list(WINDOWS) if family.has_windows else ["unbounded"]
    # Matches are told publication by publication anyway.
    granularities: list[Granularity] = ["batch", "publication"] if family.answers_stand else ["batch"]
    plain = product(modes, windows, granularities)
    return [
        Case(engine, window, granularity, mode, 1 + turn.bit_count() % 2)
        for turn, (mode, window, granularity) in enumerate(plain)
    ]
