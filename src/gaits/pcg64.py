"""NumPy's bit generator, PCG64, in compiled code: 128 bits of state as two words of 64 (O'Neill, 2014; XSL-RR)."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core.typing.templates import signature

from gaits.compiling import inline

HIGH, LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)  # of the multiplier

intrinsic: Any = extending.intrinsic  # which Numba types as what it decorates


@intrinsic
def high_product(typingctx, a, b):
    """The upper 64 bits of a product."""

    def codegen(context, builder, sig, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return signature(types.uint64, types.uint64, types.uint64), codegen


@inline
def advance(high, low, add_high, add_low):
    """The next state: state * multiplier + increment."""
    product = low * LOW
    carry = high_product(low, LOW) + high * LOW + low * HIGH
    total = product + add_low
    return carry + add_high + np.uint64(total < product), total


@inline
def output(high, low):
    """The 64 random bits of a state."""
    turn, mixed = high >> np.uint64(58), high ^ low
    return (mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63)))
