"""Many comparisons at once: which of LANES numbers, or intervals, a value meets, as the bits of one integer.

A block of intervals is 64 integers of 32 bits, the lower ends of LANES intervals and then their upper ends. Compilers
do not make vector instructions of a loop that collects bits, so the comparison is written in the vector types of LLVM.
Ends are `image`s of numbers, integers in the same order.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types

from skyband.kernels.array import Bools, Float32s, Int32s
from skyband.kernels.compile import generates, inlined, kernel, overloads

LANES = 32
# The places of a block: lower ends, then upper ends.
BLOCK_ENDS = 2 * LANES
LARGEST = float(np.finfo(np.float32).max)
# An interval that nothing meets fills the places of a block that are not in use.
NEVER_LO, NEVER_HI = 2**31 - 1, -(2**31)

# Unsigned integers of 16 or 32 bits.
Cells = npt.NDArray[Any]


def hits(ends: Int32s, start: int, low: int, high: int) -> int:
    """Bit i is set if interval i of the block that starts there has a point in common with [low, high]."""
    lo, hi = ends[start : start + LANES], ends[start + LANES : start + BLOCK_ENDS]
    return _bits((lo <= high) & (hi >= low))


def at_least(cells: Cells, start: int, value: int) -> int:
    """Bit i is set if cell i of the LANES from `start` on, in the order of memory, is no less than a value."""
    return _bits(cells.reshape(-1)[start : start + LANES] >= value)


def at_most(cells: Cells, start: int, value: int) -> int:
    """Bit i is set if cell i of the LANES from `start` on, in the order of memory, is no greater than a value."""
    return _bits(cells.reshape(-1)[start : start + LANES] <= value)


def _bits(flags: Bools) -> int:
    return sum(1 << i for i in np.flatnonzero(flags).tolist())


def lowest_bit(mask: int) -> int:
    """The number of the lowest bit that is set, of a mask that is not zero."""
    return int(mask & -mask).bit_length() - 1


def highest_bit(mask: int) -> int:
    """The number of the highest bit that is set, of a mask that is greater than zero."""
    return int(mask).bit_length() - 1


def _load(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """LANES numbers of an array from a place on."""
    data, bits = context.make_array(kind)(context, builder, array).data, kind.dtype.bitwidth
    vector = ir.VectorType(ir.IntType(bits), LANES)
    loaded = builder.load(builder.bitcast(builder.gep(data, [place]), vector.as_pointer()))
    loaded.align = bits // 8
    return loaded


def _spread(builder: Any, number: Any) -> Any:
    """LANES times the same number."""
    nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _mask(builder: Any, flags: Any) -> Any:
    return builder.zext(builder.bitcast(flags, ir.IntType(LANES)), ir.IntType(64))


@generates
def _hits(typing_context: Any, ends: Any, start: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place, low, high = arguments
        lo = _load(context, builder, signature.args[0], array, place)
        hi = _load(context, builder, signature.args[0], array, builder.add(place, ir.Constant(ir.IntType(64), LANES)))
        begun = builder.icmp_signed("<=", lo, _spread(builder, high))
        going = builder.icmp_signed(">=", hi, _spread(builder, low))
        return _mask(builder, builder.and_(begun, going))

    return types.int64(ends, types.int64, types.int32, types.int32), generate


@overloads(hits)
def _compiled_hits(ends: Any, start: Any, low: Any, high: Any) -> Any:
    def compiled(ends: Any, start: Any, low: Any, high: Any) -> Any:
        return _hits(ends, start, np.int32(low), np.int32(high))

    return compiled


def _comparing(sign: str) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place, value = arguments
        number = builder.trunc(value, ir.IntType(signature.args[0].dtype.bitwidth))
        cells = _load(context, builder, signature.args[0], array, place)
        return _mask(builder, builder.icmp_unsigned(sign, cells, _spread(builder, number)))

    return generate


@generates
def _at_least(typing_context: Any, cells: Any, start: Any, value: Any) -> Any:
    return types.int64(cells, types.int64, types.int64), _comparing(">=")


@generates
def _at_most(typing_context: Any, cells: Any, start: Any, value: Any) -> Any:
    return types.int64(cells, types.int64, types.int64), _comparing("<=")


@overloads(at_least)
def _compiled_at_least(cells: Any, start: Any, value: Any) -> Any:
    def compiled(cells: Any, start: Any, value: Any) -> Any:
        return _at_least(cells, start, np.int64(value))

    return compiled


@overloads(at_most)
def _compiled_at_most(cells: Any, start: Any, value: Any) -> Any:
    def compiled(cells: Any, start: Any, value: Any) -> Any:
        return _at_most(cells, start, np.int64(value))

    return compiled


@generates
def _trailing_zeros(typing_context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@overloads(lowest_bit)
def _compiled_lowest_bit(mask: Any) -> Any:
    def compiled(mask: Any) -> Any:
        return _trailing_zeros(mask)

    return compiled


@generates
def _leading_zeros(typing_context: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@overloads(highest_bit)
def _compiled_highest_bit(mask: Any) -> Any:
    def compiled(mask: Any) -> Any:
        return 63 - _leading_zeros(mask)

    return compiled


def images(numbers: Float32s) -> Int32s:
    """Integers in the same order as numbers of 32 bits."""
    bits = (numbers + np.float32(0.0)).view(np.int32)  # which leaves no negative zero
    return np.where(bits >= 0, bits, bits ^ np.int32(2**31 - 1))


@inlined
def _image(number: np.float32) -> int:
    bits = np.int64(np.float32(number + np.float32(0.0)).view(np.int32))
    return int(bits if bits >= 0 else bits ^ np.int64(2**31 - 1))


@kernel
def image_below(number: float) -> int:
    """The image of the largest number of 32 bits that is not greater."""
    if number > LARGEST:
        return _image(np.float32(np.inf)) if number == np.inf else _image(np.float32(LARGEST))
    if number < -LARGEST:
        return _image(np.float32(-np.inf))
    near = np.float32(number)
    if np.float64(near) > number:
        return _image(np.nextafter(near, np.float32(-np.inf)))
    return _image(near)


@kernel
def image_above(number: float) -> int:
    """The image of the smallest number of 32 bits that is not less."""
    below = image_below(-number)
    # The image of -x is one less than minus the image of x, but zero has no opposite.
    return -1 - below if below != 0 else 0
