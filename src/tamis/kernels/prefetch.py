"""Ask the processor to load memory that a kernel needs soon; no result changes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.cgutils import voidptr_t
from numba.extending import intrinsic


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Load the cache line of an entry of a one-dimensional array, which will be written to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of, number = signature.args
        data = context.make_array(of)(context, builder, arguments[0]).data
        at = context.cast(builder, arguments[1], number, types.intp)
        entry = builder.bitcast(builder.gep(data, [at]), voidptr_t)
        whole = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [voidptr_t, whole, whole, whole])
        call = builder.module.declare_intrinsic("llvm.prefetch", (voidptr_t,), kind)
        # For writing, with high locality, into the cache of data.
        builder.call(call, [entry, whole(1), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
