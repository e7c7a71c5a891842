"""Sums of products that no order can round differently, in half the memory: for features that are multiples of 2⁻⁵.

A product of two of them, at most 1, is a whole number of 2⁻¹⁰. Float32 adds up thousands of these exactly, and so does
int32 two million. Of the symmetric matrix of all products only the blocks on and above the diagonal are computed.
"""

from __future__ import annotations

from torch import Tensor

from engram.errors import BadData

UNIT = 2.0**-10
BLOCK = 1000  # columns at a time
MOST = int(2**31 * UNIT) - 1  # samples


def add_products(sums: Tensor, phi: Tensor) -> int:
    """Add φᵀφ of at most 2¹⁴ samples to an int32 matrix; the operations that it took. Its last column is all ones."""
    count = len(phi) + int(int(sums[-1, -1]) * UNIT)
    if count > MOST:
        raise BadData(f"{count} samples are more than the sums of a map can hold, {MOST}; use map=plain")
    operations, size = 0, phi.shape[1]
    for start in range(0, size, BLOCK):
        columns = slice(start, min(start + BLOCK, size))
        products = phi[:, columns].t() @ phi[:, start:]
        sums[columns, start:].add_(products.div_(UNIT).int())
        operations += 2 * len(phi) * products.numel()
    return operations


def whole(sums: Tensor) -> Tensor:
    """The symmetric matrix in float64."""
    upper = sums.double().mul_(UNIT).triu_()
    return upper.add_(upper.triu(1).t())
