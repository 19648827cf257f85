"""Kernels become machine code where Python calls them, together with all that they call, and nowhere else.

Numba makes machine code of every function that it meets, with a wrapper for Python and a file in the cache, and
optimises it once more within each caller, and within the callers of those. Here a kernel that another one calls is
lowered and left as it is. What Python calls is linked with everything beneath it and goes through the optimiser as one.
So a kernel has two faces: `Kernel` is what Python calls, and the compiler sees the `Part` of it in other kernels. The
engine `blocks` of windows compiles in half the time, and has 11 files in the cache where it had 179.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from skyband.kernels.compiling import tell_of_compiling

# Numba has no types, so that to mypy all classes here are subclasses of anything.


class _PartCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of one function as it was lowered, which is not run by itself."""

    def add_linking_library(self, library: Any) -> None:
        """Note what the function calls; nothing is done about it here."""
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        """Take no more code."""
        self._finalized = True

    def own_module(self) -> Any:
        """The code of the function alone, to be linked."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        # Numba asks where a function of its own calls a kernel, and takes it for all that there is.
        module = self.own_module().clone()
        for library in _beneath(self):
            module.link_in(_module_of(library), preserve=True)
        return module

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class _WholeCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of all that it calls, which becomes machine code."""

    _linking_libraries: list[Any]

    def add_linking_library(self, library: Any) -> None:
        """Note what the function calls; it is linked in the end."""
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        """Link everything beneath, once each, and make machine code of it."""
        for library in _beneath(self):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_module_of(library), preserve=True)
        self._linking_libraries = []
        super().finalize()


def _beneath(code: _PartCode | _WholeCode) -> list[Any]:
    """All libraries that a library needs, once each."""
    found: dict[Any, None] = {}
    rest: list[Any] = list(code._linking_libraries)
    while rest:
        library = rest.pop()
        if library not in found:
            found[library] = None
            # What numba has made has all it needs within.
            rest += library._linking_libraries if isinstance(library, _PartCode) else ()
    return list(found)


def _module_of(library: Any) -> Any:
    return library.own_module() if isinstance(library, _PartCode) else library._get_module_for_linking()


class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's own pass, with a library of ours."""

    code: type[JITCodeLibrary]

    def run_pass(self, state: Any) -> bool:
        """Lower a function into the library."""
        state.library = self.code(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        lowered: bool = super().run_pass(state)
        return lowered


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(_Lowering):
    _name = "lower_part"
    code = _PartCode


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(_Lowering):
    _name = "lower_whole"
    code = _WholeCode


class _OurCompiler(Compiler):  # type: ignore[misc]
    """Numba's own compiler, with another pass for lowering."""

    lowering: type[_Lowering]

    def define_pipelines(self) -> list[Any]:
        """The passes of numba, one of them replaced."""
        (passes,) = super().define_pipelines()
        passes.passes = [(self.lowering if kind is NativeLowering else kind, why) for kind, why in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]


class _PartCompiler(_OurCompiler):
    lowering = _LowerPart


class _WholeCompiler(_OurCompiler):
    lowering = _LowerWhole


class Part(CPUDispatcher):  # type: ignore[misc]
    """A kernel as other kernels call it: it has no wrapper, no address and no file in the cache."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        super().__init__(py_func=function, targetoptions=options, pipeline_class=_PartCompiler)
        self._compiler._customize_flags = _only_lowered

    def add_overload(self, cres: Any) -> None:
        """Let callers find what was lowered, by a key that stands for the function numba would have made."""
        key = object()
        self.overloads[tuple(cres.signature.args)] = cres._replace(entry_point=key)
        cres.target_context.insert_user_function(key, cres.fndesc, [cres.library])


def _told_of(flags: Flags) -> Flags:
    # Numba asks when it has found nothing in the cache.
    tell_of_compiling()
    return flags


def _only_lowered(flags: Flags) -> Flags:
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    return flags


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        super().__init__(py_func=function, targetoptions=options, pipeline_class=_WholeCompiler)
        self._compiler._customize_flags = _told_of
        self._own_options = options

    @functools.cached_property
    def part(self) -> Part:
        """What other kernels call; most of a process's kernels are compiled already, and none is needed."""
        return Part(self.py_func, self._own_options)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self.part)


class ByType:
    """Several kernels that are called as one: the type of the first argument, a named tuple, says which.

    A kernel that calls it compiles the one that it needs.
    """

    # Numba asks, to tell recursion.
    is_compiling = False

    def __init__(self, kernels: Mapping[type, Callable[..., Any]]) -> None:
        self._kernels = kernels

    def __call__(self, first: object, *rest: object) -> Any:
        return self._kernels[type(first)](first, *rest)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self)

    def _part(self, first: Any) -> Part:
        chosen = self._kernels[first.instance_class]
        assert isinstance(chosen, Kernel)
        return chosen.part

    def get_call_template(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """What numba asks for the types of a call."""
        return self._part(args[0]).get_call_template(args, kws)

    def get_overload(self, args: tuple[Any, ...]) -> Any:
        """What numba asks for the code of a call."""
        return self._part(args[0]).get_overload(args)


def compiled(function: Callable[..., object], options: dict[str, Any], is_cached: bool) -> Callable[..., Any]:
    """A function that is compiled when it is first called; where numba is told not to compile, the function itself."""
    if numba.config.DISABLE_JIT:
        return function
    made = Kernel(function, {"nopython": True, "boundscheck": None} | options)
    if is_cached:
        made.enable_caching()
    return made
