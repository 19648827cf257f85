"""Many comparisons at once: which of the intervals of a block a value meets, as the bits of one integer.

A block is 64 integers of 32 bits, the lower ends of LANES intervals and then their upper ends. Compilers do not make
vector instructions of a loop that collects bits, so the comparison is written in the vector types of LLVM.
Ends are `image`s of numbers, integers in the same order.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types

from skyband.kernels.compile import generates, inlined, kernel, overloads

LANES = 32
# The places of a block: lower ends, then upper ends.
BLOCK_ENDS = 2 * LANES
LARGEST = float(np.finfo(np.float32).max)
# An interval that nothing meets fills the places of a block that are not in use.
NEVER_LO, NEVER_HI = 2**31 - 1, -(2**31)

Int32s = npt.NDArray[np.int32]


def hits(ends: Int32s, start: int, low: int, high: int) -> int:
    """Bit i is set if interval i of the block that starts there has a point in common with [low, high]."""
    lo, hi = ends[start : start + LANES], ends[start + LANES : start + BLOCK_ENDS]
    return sum(1 << i for i in np.flatnonzero((lo <= high) & (hi >= low)).tolist())


def lowest_bit(mask: int) -> int:
    """The number of the lowest bit that is set, of a mask that is not zero."""
    return int(mask & -mask).bit_length() - 1


@generates
def _hits(typing_context: Any, ends: Any, start: Any, low: Any, high: Any) -> Any:
    integer, vector = ir.IntType(32), ir.VectorType(ir.IntType(32), LANES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data

        def load(place: Any) -> Any:
            loaded = builder.load(builder.bitcast(builder.gep(data, [place]), vector.as_pointer()))
            loaded.align = 4
            return loaded

        def spread(number: Any) -> Any:
            nothing = ir.Constant(vector, ir.Undefined)
            one = builder.insert_element(nothing, number, ir.Constant(integer, 0))
            return builder.shuffle_vector(one, nothing, ir.Constant(vector, [0] * LANES))

        lo, hi = load(arguments[1]), load(builder.add(arguments[1], ir.Constant(ir.IntType(64), LANES)))
        begun = builder.icmp_signed("<=", lo, spread(arguments[3]))
        going = builder.icmp_signed(">=", hi, spread(arguments[2]))
        bits = builder.bitcast(builder.and_(begun, going), ir.IntType(LANES))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(ends, types.int64, types.int32, types.int32), generate


@overloads(hits)
def _compiled_hits(ends: Any, start: Any, low: Any, high: Any) -> Any:
    def compiled(ends: Any, start: Any, low: Any, high: Any) -> Any:
        return _hits(ends, start, np.int32(low), np.int32(high))

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


def images(numbers: npt.NDArray[np.float32]) -> Int32s:
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
