"""Kernels compiled ahead of their use: each engine does a little of all that it is for, in a process of its own."""

import importlib
import multiprocessing
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract import AUTO, FAMILIES, AnyEngine, engines, find_engine
from skyband.contract.auto import Auto
from skyband.table import Window
from skyband.workload import Workload
from skyband.workload.recipe import recipe_of

Progress = Callable[[int, int], None]

# Few, but so many that rows run short, publications expire, and searches have something to find.
SIZES = {"n_subscriptions": 12, "n_publications": 80, "n_events": 80, "n_objects": 40, "n_queries": 4, "vocabulary": 50}
LENGTH, BATCH, K = 30, 20, 4


class Task(NamedTuple):
    """An engine of a family, or what keeps its subscriptions where no engine does."""

    family: str
    engine: str


class Warmed(NamedTuple):
    """What was compiled, or found to be compiled already, and how many seconds that took in all."""

    family: str
    engine: str
    seconds: float


def tasks_of(families: Sequence[str], every: bool = False) -> list[Task]:
    """Brute force and the index that are taken when no engine is named, or `every` engine that compiles anything.

    Those that take longest come first.
    """
    tasks = []
    for family in families:
        keeper = FAMILIES[family].keeper
        if keeper is not None:
            tasks.append((3, Task(family, keeper)))
            continue
        taken = find_engine(family, AUTO)
        some = {taken.many: 0, taken.few: 2} if issubclass(taken, Auto) else {taken.name: 2}
        # The oracle is plain Python, and `auto` has nothing of its own.
        others = {kind.name: 1 for kind in engines() if kind.family == family} if every else {}
        others = {name: rank for name, rank in others.items() if name not in (AUTO, FAMILIES[family].oracle)}
        tasks += [(rank, Task(family, name)) for name, rank in (others | some).items()]
    return [task for _, task in sorted(tasks)]


def warm(
    families: Sequence[str], n_processes: int | None = None, progress: Progress | None = None, every: bool = False
) -> list[Warmed]:
    """Compile what these families need, several engines at once; what is compiled already is only loaded.

    With `every`, each engine is compiled with the options that the contract suite checks it with, too.
    """
    tasks, done = tasks_of(families, every), list[Warmed]()
    n = min(n_processes or os.cpu_count() or 1, len(tasks))
    waiting = [deque(some) for some in together(tasks, n)]
    with ExitStack() as stack:
        # A process that is forked from one with threads may wait for ever.
        spawn = multiprocessing.get_context("spawn")
        pools = [stack.enter_context(ProcessPoolExecutor(1, spawn)) for _ in range(min(n, len(waiting)))]
        busy: dict[Future[Warmed], _Compiler] = {}

        def go_on(compiler: _Compiler) -> None:
            if not compiler.tasks and waiting:
                compiler = compiler._replace(tasks=waiting.pop(0))
            if compiler.tasks:
                busy[compiler.pool.submit(warm_one, compiler.tasks.popleft(), every)] = compiler

        for pool in pools:
            go_on(_Compiler(pool, deque()))
        while busy:
            for finished in wait(busy, return_when=FIRST_COMPLETED).done:
                done.append(finished.result())
                if progress is not None:
                    progress(len(done), len(tasks))
                go_on(busy.pop(finished))
    return sorted(done)


class _Compiler(NamedTuple):
    """A process that compiles, and what it is still to compile before it takes something else."""

    pool: ProcessPoolExecutor
    tasks: deque[Task]


def together(tasks: Sequence[Task], n_processes: int) -> list[list[Task]]:
    """What is best compiled by one process: a family, whose engines share most of it, if there is one for each process.

    With cores to spare each engine has a process of its own, though that compiles some of it several times.
    """
    families = list(dict.fromkeys(task.family for task in tasks))
    if n_processes > len(families):
        return [[task] for task in tasks]
    # What takes longest comes first, so that no process is left with it in the end.
    return sorted(([task for task in tasks if task.family == family] for family in families), key=len, reverse=True)


def warm_one(task: Task, in_all_modes: bool = False) -> Warmed:
    """Let an engine do a little of everything, in this process, with its own options or in all its modes as well."""
    start = time.perf_counter()
    made = sample(task.family)
    if FAMILIES[task.family].keeper is not None:
        kept = getattr(importlib.import_module(FAMILIES[task.family].room), task.engine)()
        kept.add(made.subscriptions)
        kept.find(made.subscriptions.slice(0, 2))
        kept.remove(made.subscriptions["id"].slice(0, 2))
    else:
        modes = find_engine(*task).modes if in_all_modes else ()
        for options in ({}, *(mode for mode in modes if mode)):
            for as_text in (False, True):
                _use(_opened(task, options), task.family, made, as_text)
        if in_all_modes:
            _keep(_opened(task, {}), made)
    return Warmed(*task, time.perf_counter() - start)


def sample(family: str) -> Workload:
    """A small workload of a family, with something of everything."""
    recipe = recipe_of(family)
    known = {field.name for field in fields(recipe.options)}
    sizes = SIZES | {"k": K, "window_n": LENGTH}
    return recipe.generate(recipe.options(**{name: n for name, n in sizes.items() if name in known}))


def _opened(task: Task, options: Mapping[str, Any]) -> AnyEngine:
    from skyband import open as open_engine

    window = Window.count(LENGTH) if FAMILIES[task.family].has_windows else None
    return open_engine(task.family, task.engine, window=window, **options)


def _use(engine: AnyEngine, family: str, made: Workload, as_text: bool) -> None:
    its = FAMILIES[family]
    asked, said = (_named(table, as_text) for table in (made.subscriptions, made.publications))
    engine.subscribe(asked)
    for start in range(0, len(said), BATCH):
        engine.publish(said.slice(start, BATCH))
    ids = asked["id"].combine_chunks()
    if its.answers_stand:
        engine.top()
        engine.resize(ids.slice(0, 2), K + 1)
    if its.has_retractions:
        engine.retract(said["id"].combine_chunks().slice(len(said) - 2))
    engine.unsubscribe(ids.slice(0, 2))
    if engine.now is not None:
        engine.advance(engine.now)


def _keep(engine: AnyEngine, made: Workload) -> None:
    """What keeps an engine's state and looks at it, which not everyone does."""
    engine.subscribe(made.subscriptions)
    engine.publish(made.publications.slice(0, BATCH))
    with tempfile.TemporaryDirectory() as folder:
        engine.snapshot(Path(folder) / "snapshot")
        type(engine).restore(Path(folder) / "snapshot").check()


def _named(table: pa.Table, as_text: bool) -> pa.Table:
    """The rows with ids of one type or the other; each has kernels of its own."""
    for name in ("id", "object"):
        if as_text and name in table.column_names:
            texts: Any = table[name].cast(pa.string())
            table = table.set_column(table.column_names.index(name), name, texts)
    return table
