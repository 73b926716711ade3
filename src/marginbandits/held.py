"""What compiled code is given again and again: looked at once, then handed over as one number.

A kernel that is called from Python takes a twentieth of a microsecond for each array it is given, and a round of a
learner has twenty. `Held` writes down where these lie, and the kernel reads it,

    arrays = taken(held)

as if it had been given the tuple. Who holds must keep: arrays are not to move, and a number is the one it was.

Chance is held too. `chance(generator)` is where a generator draws from; `uniform` draws there what `generator.random()`
would, and `bits` the 64 bits that all of its draws are made of.

>>> import numpy as np
>>> from marginbandits.compiled import entry, kernel
>>> @kernel
... def _scaled(held, times):
...     x, scale, source = taken(held)
...     for _ in range(times):
...         x[0] *= scale
...     return uniform(source)
>>> x, rng = np.array([1.0]), np.random.default_rng(0)
>>> held = Held((x, 3.0, chance(rng)))
>>> scaled = entry(_scaled, (held, 2))
>>> draw = scaled(held.given, 2)
>>> x, [draw, rng.random()] == np.random.default_rng(0).random(2).tolist()
(array([9.]), True)
"""

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model, typeof_impl, unbox

__all__ = ["Held", "bits", "chance", "taken", "uniform"]

_COMPILED = not vars(numba.config)["DISABLE_JIT"]


class Held:
    """A tuple of arrays, numbers, and tuples of these; `given` is what an `entry` takes in its place."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self._words = np.array(list(_words(values)) if _COMPILED else [], np.int64)
        self.given: Any = self._words.ctypes.data if _COMPILED else values

    def beside(self, *values: Any) -> "Held":
        """These first, then the same."""
        made = Held(values)
        made.values = *values, *self.values
        made._words = np.concatenate([made._words, self._words])
        made.given = made._words.ctypes.data if _COMPILED else made.values
        return made


def _words(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for one in value:
            yield from _words(one)
    elif isinstance(value, np.ndarray):
        yield from (value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(value, float):
        yield from struct.unpack("q", struct.pack("d", value))
    else:
        yield int(value)


def chance(generator: np.random.Generator) -> Any:
    """Where a generator draws from: it must live as long."""
    if not _COMPILED:
        return generator
    found: Any = generator.bit_generator.ctypes
    draws = found.next_double, found.next_uint64
    return found.state_address, *(ctypes.cast(draw, ctypes.c_void_p).value for draw in draws)


class _HeldType(types.Type):
    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Held({kind})")


@register_model(_HeldType)
class _HeldModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@typeof_impl.register(Held)
def _typeof(value: Held, context: Any) -> _HeldType:
    return _HeldType(numba.typeof(value.values))


@unbox(_HeldType)
def _unboxed(kind: Any, number: Any, c: Any) -> Any:
    return numba.extending.NativeValue(c.pyapi.long_as_longlong(number), is_error=c.pyapi.c_api_error())


def _read(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """What the next words say, as machine code has it."""
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind.types  # type: ignore[attr-defined]
        return context.make_tuple(builder, kind, [_read(context, builder, one, words) for one in kinds])
    word = next(words)
    if isinstance(kind, types.Float):
        return builder.bitcast(word, ir.DoubleType())
    if isinstance(kind, types.Boolean):
        return builder.trunc(word, ir.IntType(1))
    if not isinstance(kind, types.Array):  # a whole number, or where something is
        return word
    from numba.np.arrayobj import populate_array  # which is slow to load, and is there where anything is compiled

    array = context.make_array(kind)(context, builder)
    shape, strides = ([next(words) for _ in range(kind.ndim)] for _ in range(2))
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    populate_array(
        array,
        data=builder.inttoptr(word, array.data.type),
        shape=shape,
        strides=strides,
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def _taken(typing: Any, held: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        first = builder.inttoptr(given[0], cgutils.intp_t.as_pointer())
        words = (builder.load(cgutils.gep_inbounds(builder, first, i)) for i in range(2**30))
        return _read(context, builder, signature.return_type, words)

    return held.kind(held), code


def _drawing(which: int, result: Any) -> Any:
    """A draw of a source: its function at this place."""

    @intrinsic
    def draw(typing: Any, source: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            state, address = (builder.extract_value(given[0], i) for i in (0, which))
            draws = ir.FunctionType(context.get_value_type(result), [ir.IntType(8).as_pointer()])
            where = builder.inttoptr(state, ir.IntType(8).as_pointer())
            return builder.call(builder.inttoptr(address, draws.as_pointer()), [where])

        return result(source), code

    return draw


_uniform, _bits = _drawing(1, types.float64), _drawing(2, types.uint64)

taken: Any = _taken if _COMPILED else lambda held: held
"""The tuple that is held, for kernels."""
uniform: Any = _uniform if _COMPILED else lambda generator: generator.random()
"""The next number in [0, 1), for kernels."""
bits: Any = _bits if _COMPILED else lambda generator: np.uint64(generator.bit_generator.random_raw())
"""The next 64 bits, for kernels."""
