"""A line of memory at a time, 64 bytes: eight numbers of an array, or sixteen in single precision.

For kernels in which it matters how rows are gone through. Where the compiler makes such code itself, it first asks
whether arrays overlap, and has a slow end for rows that are no multiple of what it chose. Here neither is needed, and
sums are added up in one order, whatever the processor's registers hold and wherever arrays lie.

>>> import numpy as np
>>> from marginbandits.compiled import kernel
>>> @kernel
... def _moved(x, y, share):
...     for j in range(0, x.shape[0], width(x)):
...         put(y, j, line(y, j) - each(share) * line(x, j))
...     return total(line(x, 0))
>>> x, y = np.arange(8.0), np.ones(8)
>>> _moved(x, y, 0.5), y
(28.0, array([ 1. ,  0.5,  0. , -0.5, -1. , -1.5, -2. , -2.5]))
>>> across(9), across(9, np.float32)
(16, 16)
"""

import operator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

__all__ = ["LINE", "across", "each", "line", "put", "roots", "sizes", "total", "where", "width"]

LINE = 64
"""Bytes of a line of memory: what a processor reads at once."""
_FAST_MATH = ("reassoc", "contract")
_COMPILED = not vars(numba.config)["DISABLE_JIT"]


def across(n: int, dtype: npt.DTypeLike = np.float64) -> int:
    """How wide rows of n numbers are that end where lines do."""
    many = LINE // np.dtype(dtype).itemsize
    return -(-n // many) * many


class _LineType(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Line({dtype})")


def _many(dtype: Any) -> int:
    return 8 * LINE // int(dtype.bitwidth)


def _vector(dtype: Any) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else ir.FloatType(), _many(dtype))


def _order(*places: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


@register_model(_LineType)
class _LineModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _vector(kind.dtype))


@intrinsic
def _width(typing: Any, array: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return context.get_constant(types.intp, _many(array.dtype))

    return types.intp(array), code


def _place(context: Any, builder: Any, kind: Any, array: Any, j: Any) -> Any:
    """Where the line lies, and that it may begin at any number."""
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [j])
    return builder.bitcast(first, _vector(kind.dtype).as_pointer()), kind.dtype.bitwidth // 8


@intrinsic
def _line(typing: Any, array: Any, j: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place, align = _place(context, builder, signature.args[0], *given)
        return builder.load(place, align=align)

    return _LineType(array.dtype)(array, types.intp), code


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
        return builder.shuffle_vector(first, nothing, _order(*[0] * _many(signature.args[0])))

    plain = types.unliteral(number)
    return _LineType(plain)(plain), code


@intrinsic
def _total(typing: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        left, many = given[0], _many(value.dtype)
        while many > 1:  # halves are added until one number is left
            many //= 2
            halves = (_order(*range(first, first + many)) for first in (0, many))
            left = builder.fadd(*(builder.shuffle_vector(left, left, half) for half in halves))
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return value.dtype(value), code


def _called(name: str) -> Any:
    """A function of each number that the compiler knows by name."""

    @intrinsic
    def function(typing: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            vector = _vector(value.dtype)
            known = ir.FunctionType(vector, [vector]), f"llvm.{name}.v{_many(value.dtype)}f{value.dtype.bitwidth}"
            return builder.call(cgutils.get_or_insert_function(builder.module, *known), given)

        return value(value), code

    return function


_roots, _sizes = _called("sqrt"), _called("fabs")


@intrinsic
def _where(typing: Any, sign: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zero = ir.Constant(_vector(value.dtype), [0.0] * _many(value.dtype))
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
        return done if isinstance(left, _LineType) and left == right else None


for _symbol, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _arithmetic(getattr(operator, _symbol), _name)

width: Any = _width if _COMPILED else lambda array: LINE // array.itemsize
"""How many numbers of an array are a line."""
line: Any = _line if _COMPILED else lambda array, j: array[j : j + LINE // array.itemsize].copy()
"""The numbers of an array from place j on."""
put: Any = _put if _COMPILED else lambda array, j, value: array.__setitem__(slice(j, j + len(value)), value)
"""Writes a line from place j on."""
each: Any = _each if _COMPILED else lambda number: np.full(LINE // np.asarray(number).itemsize, number)
"""A line of the same number."""
total: Any = _total if _COMPILED else lambda value: value.dtype.type(value.sum())
"""The sum of a line."""
roots: Any = _roots if _COMPILED else np.sqrt
"""The square root of each."""
sizes: Any = _sizes if _COMPILED else np.abs
"""Each without its sign."""
where: Any = _where if _COMPILED else lambda sign, value: np.where(sign > 0.0, value, 0.0)
"""The second where the first is above 0, and 0 elsewhere."""
