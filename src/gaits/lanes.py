"""A SIMD value type for Numba: several numbers that behave like one.

    view = lanes(array, FOUR)    # in compiled code: a view whose items are four numbers wide
    view[k]                      # load the k-th item;  view[k] = x  stores it
    a + b, -a, a < b, m & n, select(m, a, b), fma(a, b, c); of doubles also sqrt(a), sin(a), cos(a)

``lanes(array, ONE)`` gives plain doubles, so the same source compiles for one episode or for four side by side, and the
first is the oracle of the second. ``one_lane(view, i)`` is lane i of a view, item by item a double: for what branches by
nature.

Every operation is one IEEE operation per lane, in the order of the source: LLVM contracts and reorders nothing unless it is
allowed to. sin and cos go through the C library lane by lane, because their last bits are part of the physics (ENGINE 9).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic as _intrinsic
from numba.extending import lower_builtin, models, register_model

intrinsic: Any = _intrinsic  # what it makes is called with one argument less than it has
INT32 = ir.IntType(32)

ONE, FOUR, EIGHT, SIXTEEN, THIRTY_TWO = (n * (0,) for n in (1, 4, 8, 16, 32))
"""How many side by side: a tuple, because its length is part of its type."""


class Lanes(types.Type):
    """n numbers."""

    def __init__(self, dtype: types.Type, n: int) -> None:
        self.dtype, self.n = dtype, n
        super().__init__(f"lanes({dtype}, {n})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, (types.Float, types.Integer)) else None


class Mask(types.Type):
    """n truth values."""

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(f"mask{n}")


class View(types.Type):
    """A pointer whose k-th item is n numbers at k * stride."""

    def __init__(self, dtype: types.Type, n: int, stride: int) -> None:
        self.dtype, self.n, self.stride = dtype, n, stride
        self.item = Lanes(dtype, n) if n > 1 else dtype
        super().__init__(f"view({dtype}, {n}, {stride})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, t: Lanes) -> None:
        super().__init__(dmm, t, ir.VectorType(dmm.lookup(t.dtype).get_value_type(), t.n))


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, t: Mask) -> None:
        super().__init__(dmm, t, ir.VectorType(ir.IntType(1), t.n))


@register_model(View)
class ViewModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, t: View) -> None:
        super().__init__(dmm, t, dmm.lookup(t.dtype).get_data_type().as_pointer())


# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic
# ---------------------------------------------------------------------------------------------------------------------


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _spread(context: Any, builder: Any, source: Any, target: Lanes, value: Any) -> Any:
    """A number in every lane."""
    number = context.cast(builder, value, source, target.dtype)
    first = builder.insert_element(ir.Constant(ir.VectorType(number.type, target.n), ir.Undefined), number, INT32(0))
    order = ir.Constant(ir.VectorType(INT32, target.n), [0] * target.n)
    return builder.shuffle_vector(first, ir.Constant(first.type, ir.Undefined), order)


def _binary(op: Callable[..., Any], kind: type, result: Callable[[Any], Any], emit: Callable[..., Any]) -> None:
    """Teach Numba an operator between two values of a kind, or one of them and a plain number."""

    @infer_global(op)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            wide = next((a for a in args if isinstance(a, kind)), None)
            if wide is None or len(args) != 2:
                return None
            if all(a == wide or (kind is Lanes and isinstance(a, (types.Float, types.Integer))) for a in args):
                return signature(result(wide), wide, wide)
            return None

    @lower_builtin(op, kind, kind)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(builder, *args)


for _op, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _binary(getattr(operator, _op), Lanes, lambda t: t, lambda b, x, y, name=_name: getattr(b, name)(x, y))
for _op, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    _binary(getattr(operator, _op), Lanes, lambda t: Mask(t.n), lambda b, x, y, s=_symbol: b.fcmp_ordered(s, x, y))
_binary(operator.and_, Mask, lambda t: t, lambda b, x, y: b.and_(x, y))
_binary(operator.or_, Mask, lambda t: t, lambda b, x, y: b.or_(x, y))


@infer_global(operator.neg)
class _NegTyping(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], args[0]) if isinstance(args[0], Lanes) else None


@lower_builtin(operator.neg, Lanes)
def _neg(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


@intrinsic
def sqrt(typingctx, x):
    def codegen(context, builder, sig, args):
        name = f"llvm.sqrt.v{x.n}f64" if isinstance(x, Lanes) else "llvm.sqrt.f64"
        kind = args[0].type
        return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name), args)

    return signature(x, x), codegen


@intrinsic
def fma(typingctx, x, y, z):
    """x y + z, rounded once, of float32."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, 3 * [args[0].type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{x.n}f32"), args)

    return signature(x, x, x, x), codegen


@intrinsic
def across(typingctx, x):
    """The sum of all lanes: one half plus the other, until one is left."""

    def codegen(context, builder, sig, args):
        whole, n = args[0], x.n
        while n > 1:
            n //= 2
            halves = (ir.Constant(ir.VectorType(INT32, n), list(range(first, first + n))) for first in (0, n))
            whole = builder.fadd(*(builder.shuffle_vector(whole, whole, half) for half in halves))
        return builder.extract_element(whole, INT32(0))

    return signature(x.dtype, x), codegen


@intrinsic
def select(typingctx, mask, a, b):
    """a where the mask is true, else b."""
    wide = next((t for t in (a, b) if isinstance(t, Lanes)), types.float64)
    return signature(wide, mask, wide, wide), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def like(typingctx, x, number):
    """The number, in every lane of something like x."""
    return signature(x, x, x), lambda context, builder, sig, args: args[1]


@intrinsic
def opposite(typingctx, mask):
    """not mask, lane by lane."""
    return signature(mask, mask), lambda context, builder, sig, args: builder.not_(args[0])


@intrinsic
def any_lane(typingctx, mask):
    """Whether the mask is true anywhere."""

    def codegen(context, builder, sig, args):
        if not isinstance(mask, Mask):
            return args[0]
        bits = builder.bitcast(args[0], ir.IntType(mask.n))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return signature(types.boolean, mask), codegen


def _through_libm(function: Callable[[float], float]) -> Any:
    @intrinsic
    def apply(typingctx, x):
        one = signature(types.float64, types.float64)

        def codegen(context, builder, sig, args):
            context.typing_context.resolve_value_type(function).get_call_type(context.typing_context, one.args, {})
            call = context.get_function(function, one)
            if not isinstance(x, Lanes):
                return call(builder, args)
            out = args[0]
            for i in range(x.n):
                out = builder.insert_element(out, call(builder, [builder.extract_element(args[0], INT32(i))]), INT32(i))
            return out

        return signature(x, x), codegen

    return apply


sin, cos = _through_libm(math.sin), _through_libm(math.cos)


# ---------------------------------------------------------------------------------------------------------------------
# Views
# ---------------------------------------------------------------------------------------------------------------------


@intrinsic
def lanes(typingctx, array, side_by_side):
    """A view of an array's data, with as many numbers an item as ``side_by_side``, a tuple, has items."""
    n = len(side_by_side)
    view = View(array.dtype, n, n)

    def codegen(context, builder, sig, args):
        return context.make_array(array)(context, builder, args[0]).data

    return signature(view, array, side_by_side), codegen


@intrinsic
def one_lane(typingctx, view, lane):
    """Lane ``lane`` of a view, as a view of single numbers."""
    narrow = View(view.dtype, 1, view.stride)
    return signature(narrow, view, types.intp), lambda context, builder, sig, args: builder.gep(args[0], [args[1]])


@intrinsic
def part(typingctx, view, start):
    """The view from item ``start`` on."""

    def codegen(context, builder, sig, args):
        return builder.gep(args[0], [builder.mul(args[1], args[1].type(view.stride))])

    return signature(view, view, types.intp), codegen


@intrinsic
def wide(typingctx, view, side_by_side):
    """A view of single numbers as one of several an item."""
    n = len(side_by_side)
    return signature(View(view.dtype, n, n), view, side_by_side), lambda context, builder, sig, args: args[0]


@intrinsic
def width(typingctx, view):
    """Lanes of a view: a constant."""
    return signature(types.intp, view), lambda context, builder, sig, args: ir.IntType(64)(view.n)


@infer_global(operator.getitem)
class _GetTyping(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        view, index = args
        if isinstance(view, View) and isinstance(index, types.Integer):
            return signature(view.item, view, types.intp)
        return None


@infer_global(operator.setitem)
class _SetTyping(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        view, index, _ = args
        if isinstance(view, View) and isinstance(index, types.Integer):
            return signature(types.none, view, types.intp, view.item)
        return None


def _address(builder: Any, view: View, pointer: Any, index: Any) -> Any:
    start = builder.mul(index, index.type(view.stride), flags=["nsw"])
    address = builder.gep(pointer, [start], inbounds=True)
    return builder.bitcast(address, ir.VectorType(pointer.type.pointee, view.n).as_pointer()) if view.n > 1 else address


@lower_builtin(operator.getitem, View, types.intp)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_address(builder, sig.args[0], *args), align=sig.args[0].dtype.bitwidth // 8)


@lower_builtin(operator.setitem, View, types.intp, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _address(builder, sig.args[0], args[0], args[1]), align=sig.args[0].dtype.bitwidth // 8)
    return context.get_dummy_value()


@intrinsic
def transpose8(typingctx, source, start, stride, target, to, step):
    """Turn rows into columns: eight rows of eight numbers, ``stride`` apart, to eight rows that are ``step`` apart."""

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(ir.FloatType(), 8)

        def address(view, first, apart, k):
            at = builder.add(first, builder.mul(apart, apart.type(k)))
            return builder.bitcast(builder.gep(view, [at]), vector.as_pointer())

        def pick(a, b, order):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, 8), order))

        def exchange(rows, apart, low, high):
            """Every row with the one that is so far away: what is low of both, what is high of both."""
            out = list(rows)
            for k in range(8):
                if not k & apart:
                    out[k], out[k + apart] = pick(rows[k], rows[k + apart], low), pick(rows[k], rows[k + apart], high)
            return out

        rows = [builder.load(address(args[0], args[1], args[2], k), align=4) for k in range(8)]
        rows = exchange(rows, 1, [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15])
        rows = exchange(rows, 2, [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15])
        rows = exchange(rows, 4, [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
        for k, row in enumerate(rows):
            builder.store(row, address(args[3], args[4], args[5], k), align=4)
        return context.get_dummy_value()

    i = types.intp
    return signature(types.none, source, i, i, target, i, i), codegen
