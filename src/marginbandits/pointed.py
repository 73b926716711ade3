"""A kernel that other kernels call where its machine code lies, so that it is made once, whoever calls it.

Kernels take in whole those that they call: a long one would be compiled anew in each, which takes many seconds, and
might sum in another order there. `Pointed` says where one is, for arguments of some types, and in a kernel

    called(pointed, arguments)

calls it, if the arguments are of those types: else that kernel is not compiled.

>>> import numpy as np
>>> from marginbandits.compiled import entry, kernel
>>> from marginbandits.held import Held, taken
>>> @kernel
... def _total(x, times):
...     total = 0.0
...     for value in x:
...         total += value
...     return total * times
>>> @kernel
... def _twice(held):
...     total, x = taken(held)
...     return called(total, (x, 2))
>>> x = np.array([1.0, 2.0])
>>> held = Held((Pointed(_total, (x, 2)), x))
>>> float(entry(_twice, (held,))(held.given))
6.0
"""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

from marginbandits.compiled import made_for

__all__ = ["Pointed", "called"]

_COMPILED = not vars(numba.config)["DISABLE_JIT"]


class Pointed:
    """A kernel's machine code for arguments like these: `held` as a number, `int(pointed)`, or given to a kernel."""

    def __init__(self, kernel: Any, arguments: tuple[Any, ...]) -> None:
        self.kernel = kernel
        if _COMPILED:
            made = made_for(kernel, arguments)
            self.signature = made.signature
            self._where = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)

    def __int__(self) -> int:
        return int(self._where)


class PointedType(types.Type):
    """Where code of this signature is."""

    def __init__(self, signature: Any) -> None:
        self.signature = signature
        super().__init__(name=f"Pointed({signature})")


@register_model(PointedType)
class _PointedModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@typeof_impl.register(Pointed)
def _typeof(value: Pointed, context: Any) -> PointedType:
    return PointedType(value.signature)


@unbox(PointedType)
def _unboxed(kind: Any, pointed: Any, c: Any) -> Any:
    number = c.pyapi.number_long(pointed)
    value = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(value, is_error=c.pyapi.c_api_error())


@intrinsic
def _called(typing: Any, pointed: Any, arguments: Any) -> Any:
    signature = pointed.signature
    given, asked = tuple(map(types.unliteral, arguments.types)), tuple(signature.args)
    if given != asked:
        raise errors.TypingError(f"a kernel for {asked} is called with {given}")

    def code(context: Any, builder: Any, _: Any, both: Any) -> Any:
        convention, kind = context.call_conv, signature.return_type
        where = builder.inttoptr(both[0], convention.get_function_type(kind, asked).as_pointer())
        parts = cgutils.unpack_tuple(builder, both[1])
        values = [context.cast(builder, *one) for one in zip(parts, arguments.types, asked, strict=True)]
        status, result = convention.call_function(builder, where, kind, asked, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return signature.return_type(pointed, arguments), code


called: Any = _called if _COMPILED else lambda pointed, arguments: pointed.kernel(*arguments)
"""What the kernel returns, for kernels."""
