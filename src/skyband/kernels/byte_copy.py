"""Bytes copied eight at a time, wherever they lie: most ids are one such word, or two."""

from typing import Any

from llvmlite import ir
from numba import types

from skyband.kernels.array import Bytes
from skyband.kernels.compile import generates, inlined, overloads

WORD = 8


def copy_word(source: Bytes, start: int, target: Bytes, at: int) -> None:
    """Copy WORD bytes; both arrays have to have so many from there on."""
    target[at : at + WORD] = source[start : start + WORD]


@generates
def _copy_word(typing_context: Any, source: Any, start: Any, target: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(8 * WORD).as_pointer()

        def pointer(i: int) -> Any:
            data = context.make_array(signature.args[i])(context, builder, arguments[i]).data
            return builder.bitcast(builder.gep(data, [arguments[i + 1]]), word)

        loaded = builder.load(pointer(0))
        loaded.align = 1
        builder.store(loaded, pointer(2), align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


@overloads(copy_word)
def _compiled_copy_word(source: Any, start: Any, target: Any, at: Any) -> Any:
    def compiled(source: Any, start: Any, target: Any, at: Any) -> Any:
        _copy_word(source, start, target, at)

    return compiled


@inlined
def copy_bytes(source: Bytes, start: int, n: int, target: Bytes, at: int) -> None:
    """Copy n bytes; some of those behind them in the target may be overwritten."""
    done = 0
    while done < n and start + done + WORD <= len(source) and at + done + WORD <= len(target):
        copy_word(source, start + done, target, at + done)
        done += WORD
    for i in range(done, n):
        target[at + i] = source[start + i]
