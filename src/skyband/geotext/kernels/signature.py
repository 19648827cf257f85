"""Signatures: for a list of terms an integer with a bit for each of them."""

from skyband.kernels.array import Int64s
from skyband.kernels.compile import kernel

N_BITS = 63


@kernel
def sign(codes: Int64s, offsets: Int64s, signatures: Int64s) -> None:
    """Write down the signature of each list of term codes: lists with no common bit share no term."""
    for i in range(len(signatures)):
        bits = 0
        for at in range(offsets[i], offsets[i + 1]):
            bits |= 1 << ((codes[at] * 2654435761 >> 7) % N_BITS)
        signatures[i] = bits
