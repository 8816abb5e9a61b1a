"""Eight numbers that are computed on at once: one of eight columns each, never eight rows of one.

A sum over the rows may not be reordered, so a compiler cannot speed it up. Eight such sums, of
eight columns side by side, can advance together: every column keeps its order of additions, and so
its bits. Numba's own vectoriser does not find that, so this module adds a type for eight numbers.
Processors without vectors that wide get two or four shorter ones, with the same results, and no
product is fused with a sum.

In Python lanes are arrays of length 8, so that kernels also run uncompiled.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model, type_callable

LANES = 8

#: How many numbers `narrow` takes, and how many bytes `equal_bits`.
NARROWED, WORD = 16, 64

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)


class LanesType(types.Type):
    """The type of eight numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"float64x{LANES}")


lanes_type = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


# --- what kernels call ---------------------------------------------------------------------------


def load(array, at):
    """Return array[at:at+8] of a contiguous array of floats."""
    return array[at : at + LANES].copy()


def store(array, at, lanes):
    """Write eight numbers to array[at:at+8]."""
    array[at : at + LANES] = lanes


def spread(number):
    """Return a number eight times."""
    return np.full(LANES, float(number))


def filled(lanes):
    """Return 1.0 where a number is not zero, else 0.0."""
    return (lanes != 0.0).astype(np.float64)


def transpose(array, at, stride, out, to, gap):
    """Write elements at..at+7 of eight vectors, `stride` apart, as eight others, `gap` apart."""
    for row in range(LANES):
        for lane in range(LANES):
            out[to + row * gap + lane] = array[at + lane * stride + row]


def count_bits(word):
    """Return the number of ones of a 64-bit word."""
    return int(word).bit_count()


def narrow(array, at, out, to):
    """Write array[at:at+16] to out[to:to+16] as bytes; return whether all are from -127 to 127."""
    part = np.asarray(array[at : at + NARROWED])
    fits = (part >= -127) & (part <= 127) & (part == np.trunc(part))
    out[to : to + NARROWED] = np.where(fits, part, 0)
    return bool(fits.all())


def equal_bits(codes, at, code):
    """Return a word whose bit i says whether codes[at + i] is `code`, for 64 bytes."""
    equal = codes[at : at + WORD] == code
    return np.packbits(equal, bitorder="little").view(np.uint64)[0]


# --- how they are compiled -----------------------------------------------------------------------


@type_callable(load)
def _type_load(context):
    return lambda array, at: lanes_type


@type_callable(store)
def _type_store(context):
    return lambda array, at, lanes: types.none


@type_callable(spread)
def _type_spread(context):
    return lambda number: lanes_type


@type_callable(filled)
def _type_filled(context):
    return lambda lanes: lanes_type


@type_callable(transpose)
def _type_transpose(context):
    return lambda array, at, stride, out, to, gap: types.none


@type_callable(narrow)
def _type_narrow(context):
    return lambda array, at, out, to: types.boolean


@type_callable(equal_bits)
def _type_equal_bits(context):
    return lambda codes, at, code: types.uint64


@infer_global(count_bits)
class _TypeCountBits(ConcreteTemplate):
    cases = [signature(types.int64, types.uint64)]  # noqa: RUF012 (numba's protocol)


def _address(context, builder, array_type, array, at, kind=_VECTOR):
    """Return the address of eight elements of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())


def _as_index(context, builder, of_type, value):
    return context.cast(builder, value, of_type, types.intp)


def _load_as(context, builder, array_type, array, at, kind):
    """Load eight elements of an array, as they are or, if `kind` are doubles, as doubles."""
    dtype = array_type.dtype
    stored = ir.VectorType(context.get_value_type(dtype), LANES)
    place = _address(context, builder, array_type, array, at, stored)
    numbers = builder.load(place, align=dtype.bitwidth // 8)
    if stored == kind:
        return numbers
    widen = builder.sitofp if isinstance(dtype, types.Integer) else builder.fpext
    return widen(numbers, kind)


@lower_builtin(load, types.Array, types.Integer)
def _load(context, builder, sig, args):
    at = _as_index(context, builder, sig.args[1], args[1])
    return _load_as(context, builder, sig.args[0], args[0], at, _VECTOR)


@lower_builtin(store, types.Array, types.Integer, LanesType)
def _store(context, builder, sig, args):
    at = _as_index(context, builder, sig.args[1], args[1])
    builder.store(args[2], _address(context, builder, sig.args[0], args[0], at), align=8)
    return context.get_dummy_value()


@lower_builtin(spread, types.Number)
def _spread(context, builder, sig, args):
    number = context.cast(builder, args[0], sig.args[0], types.float64)
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, _i32(0))
    return builder.shuffle_vector(one, one, _mask([0] * LANES))


@lower_builtin(filled, LanesType)
def _filled(context, builder, sig, args):
    zero = ir.Constant(_VECTOR, [ir.Constant(_DOUBLE, 0.0)] * LANES)
    one = ir.Constant(_VECTOR, [ir.Constant(_DOUBLE, 1.0)] * LANES)
    return builder.select(builder.fcmp_unordered("!=", args[0], zero), one, zero)


@lower_builtin(transpose, types.Array, *[types.Integer] * 2, types.Array, *[types.Integer] * 2)
def _transpose(context, builder, sig, args):
    source, target = sig.args[0], sig.args[3]
    at, stride, to, gap = (_as_index(context, builder, sig.args[i], args[i]) for i in (1, 2, 4, 5))
    kind = ir.VectorType(context.get_value_type(target.dtype), LANES)
    rows = []
    for lane in range(LANES):
        place = builder.add(at, builder.mul(stride, cgutils.intp_t(lane)))
        rows.append(_load_as(context, builder, source, args[0], place, kind))
    # Three rounds: after the round of width w, blocks of w x w are in place.
    for width in (1, 2, 4):
        low, high = [], []
        for i in range(LANES):
            odd = i & width
            low.append(i + LANES - width if odd else i)
            high.append(i + LANES if odd else i + width)
        for i in range(LANES):
            if not i & width:
                a, b = rows[i], rows[i + width]
                rows[i] = builder.shuffle_vector(a, b, _mask(low))
                rows[i + width] = builder.shuffle_vector(a, b, _mask(high))
    for row in range(LANES):
        place = builder.add(to, builder.mul(gap, cgutils.intp_t(row)))
        address = _address(context, builder, target, args[3], place, kind)
        builder.store(rows[row], address, align=target.dtype.bitwidth // 8)
    return context.get_dummy_value()


@lower_builtin(count_bits, types.uint64)
def _count_bits(context, builder, sig, args):
    return builder.ctpop(args[0])


@lower_builtin(narrow, types.Array, types.Integer, types.Array, types.Integer)
def _narrow(context, builder, sig, args):
    source, target = sig.args[0], sig.args[2]
    at, to = (_as_index(context, builder, sig.args[i], args[i]) for i in (1, 3))
    stored, octets = context.get_value_type(source.dtype), ir.IntType(8)

    def sixteen(kind):
        return ir.VectorType(kind, NARROWED)

    def all_of(kind, number):
        return ir.Constant(sixteen(kind), [ir.Constant(kind, number)] * NARROWED)

    def address(array_type, array, where, kind):
        place = builder.gep(context.make_array(array_type)(context, builder, array).data, [where])
        return builder.bitcast(place, sixteen(kind).as_pointer())

    place = address(source, args[0], at, stored)
    values = builder.load(place, align=source.dtype.bitwidth // 8)
    if isinstance(source.dtype, types.Integer):
        below = 127 if source.dtype.signed else 0  # a sum of unsigned numbers would wrap around
        shifted = builder.add(values, all_of(stored, below))
        fits = builder.icmp_unsigned("<=", shifted, all_of(stored, 127 + below))
        short = values if stored == octets else builder.trunc(values, sixteen(octets))
    else:
        inside = builder.and_(
            builder.fcmp_ordered("<=", values, all_of(stored, 127.0)),
            builder.fcmp_ordered(">=", values, all_of(stored, -127.0)),
        )
        values = builder.select(inside, values, all_of(stored, 0.0))
        whole = builder.fptosi(values, sixteen(ir.IntType(32)))
        same = builder.fcmp_ordered("==", builder.sitofp(whole, sixteen(stored)), values)
        fits, short = builder.and_(inside, same), builder.trunc(whole, sixteen(octets))
    builder.store(short, address(target, args[2], to, octets), align=1)
    bits = ir.IntType(NARROWED)
    return builder.icmp_unsigned("==", builder.bitcast(fits, bits), ir.Constant(bits, -1))


@lower_builtin(equal_bits, types.Array, types.Integer, types.Integer)
def _equal_bits(context, builder, sig, args):
    octet = ir.IntType(8)
    octets = ir.VectorType(octet, WORD)
    at = _as_index(context, builder, sig.args[1], args[1])
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    place = builder.bitcast(builder.gep(data, [at]), octets.as_pointer())
    values = builder.load(place, align=1)
    code = context.cast(builder, args[2], sig.args[2], types.int8)
    one = builder.insert_element(ir.Constant(octets, ir.Undefined), code, _i32(0))
    code = builder.shuffle_vector(
        one, one, ir.Constant(ir.VectorType(ir.IntType(32), WORD), [0] * WORD)
    )
    return builder.bitcast(builder.icmp_signed("==", values, code), ir.IntType(64))


def _i32(number):
    return ir.Constant(ir.IntType(32), number)


def _mask(indices):
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), indices)


def _define(of, emit):
    """Let two lanes be combined by an operator."""

    class Template(AbstractTemplate):
        def generic(self, args, kws):
            both = len(args) == 2 and all(isinstance(a, LanesType) for a in args)
            return signature(lanes_type, lanes_type, lanes_type) if both else None

    infer_global(of)(Template)

    def lowered(context, builder, sig, args):
        return getattr(builder, emit)(*args)

    lower_builtin(of, LanesType, LanesType)(lowered)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")
