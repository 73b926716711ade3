"""Eight numbers of an array at a time, for kernels in which it matters how sums and rows are gone through.

Where the compiler makes such code itself, it first asks whether arrays overlap, and has a slow end for rows that are no
multiple of what it chose. Here neither is needed, and sums are added up in one order on every machine, whatever its
registers hold.

>>> import numpy as np
>>> from marginbandits.compiled import kernel
>>> @kernel
... def _moved(x, y, share):
...     put(y, 0, eight(y, 0) - each(share) * eight(x, 0))
...     return total(eight(x, 0))
>>> x, y = np.arange(9.0), np.ones(9)
>>> _moved(x, y, 0.5), y
(28.0, array([ 1. ,  0.5,  0. , -0.5, -1. , -1.5, -2. , -2.5,  1. ]))
"""

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

__all__ = ["WIDTH", "each", "eight", "put", "roots", "sizes", "total", "where"]

WIDTH = 8
_FAST_MATH = ("reassoc", "contract")
_COMPILED = not vars(numba.config)["DISABLE_JIT"]


class _EightType(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Eight({dtype})")


def _vector(dtype: Any) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else ir.FloatType(), WIDTH)


@register_model(_EightType)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _vector(kind.dtype))


def _place(context: Any, builder: Any, kind: Any, array: Any, j: Any) -> Any:
    """Where the eight lie, and that they begin at any number."""
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [j])
    return builder.bitcast(first, _vector(kind.dtype).as_pointer()), kind.dtype.bitwidth // 8


@intrinsic
def _eight(typing: Any, array: Any, j: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place, align = _place(context, builder, signature.args[0], *given)
        return builder.load(place, align=align)

    return _EightType(array.dtype)(array, types.intp), code


@intrinsic
def _put(typing: Any, array: Any, j: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place, align = _place(context, builder, signature.args[0], *given[:2])
        builder.store(given[2], place, align=align)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def _each(typing: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        nothing = ir.Constant(_vector(signature.args[0]), ir.Undefined)
        first = builder.insert_element(nothing, given[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))

    plain = types.unliteral(number)
    return _EightType(plain)(plain), code


@intrinsic
def _total(typing: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        left, width = given[0], WIDTH
        while width > 1:  # halves are added until one number is left
            width //= 2
            place = ir.VectorType(ir.IntType(32), width)
            halves = (ir.Constant(place, list(range(first, first + width))) for first in (0, width))
            left = builder.fadd(*(builder.shuffle_vector(left, left, half) for half in halves))
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return value.dtype(value), code


def _called(name: str) -> Any:
    """A function of each of the eight that the compiler knows by name."""

    @intrinsic
    def function(typing: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            vector = _vector(value.dtype)
            known = f"llvm.{name}.v{WIDTH}f{value.dtype.bitwidth}"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), known), given
            )

        return value(value), code

    return function


_roots, _sizes = _called("sqrt"), _called("fabs")


@intrinsic
def _where(typing: Any, sign: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zero = ir.Constant(_vector(value.dtype), [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered(">", given[0], zero), given[1], zero)

    return value(sign, value), code


def _arithmetic(symbol: Any, name: str) -> None:
    @intrinsic
    def both(typing: Any, left: Any, right: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return getattr(builder, name)(*given, flags=_FAST_MATH)

        return left(left, right), code

    def done(left: Any, right: Any) -> Any:
        return both(left, right)  # type: ignore[call-arg]  # numba gives the first

    @overload(symbol, inline="always")
    def _(left: Any, right: Any) -> Any:
        return done if isinstance(left, _EightType) and left == right else None


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_symbol, _name)

eight: Any = _eight if _COMPILED else lambda array, j: array[j : j + WIDTH].copy()
"""The eight numbers of an array from place j on."""
put: Any = _put if _COMPILED else lambda array, j, value: array.__setitem__(slice(j, j + WIDTH), value)
"""Writes eight numbers from place j on."""
each: Any = _each if _COMPILED else lambda number: np.full(WIDTH, number)
"""The same number eight times."""
total: Any = _total if _COMPILED else lambda value: value.dtype.type(value.sum())
"""The sum of the eight."""
roots: Any = _roots if _COMPILED else np.sqrt
"""The square root of each."""
sizes: Any = _sizes if _COMPILED else np.abs
"""Each without its sign."""
where: Any = _where if _COMPILED else lambda sign, value: np.where(sign > 0.0, value, 0.0)
"""The second where the first is above 0, and 0 elsewhere."""
