"""Compile functions by numba.  Importing this module imports numba."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from hudiformat.kernels import memory
from hudiformat.kernels.ahead import digest_of_sources

_LOADS = {memory.load8: 8, memory.load32: 32, memory.load64: 64}
_STORES = {memory.store8: 8, memory.store32: 32, memory.store64: 64}
_registered: set[Any] = {
    *_LOADS,
    *_STORES,
    memory.copy16,
    memory.high_bits32,
    memory.wrap64,
    memory.low_zeros,
    memory.prefetch,
}


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function*, whose arguments and result are 64-bit numbers, compiled; it runs without Python's lock.

    The functions of this package that it calls are compiled into it.  The result is kept on disk beside the module, or
    in the user's cache folder; if neither can be written, each process compiles anew.
    """
    signature = _signature(function)
    try:
        return numba.njit(signature, nogil=True, cache=True)(_rename_by_sources(function))  # type: ignore[no-any-return]  # numba has no types
    except (RuntimeError, OSError) as error:  # RuntimeError without a folder for the cache, OSError on a full disk
        if isinstance(error, RuntimeError) and "no locator available" not in str(error):
            raise
        return numba.njit(signature, nogil=True)(function)  # type: ignore[no-any-return]  # numba has no types


def compile_to_ir(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the code of *function* for LLVM, optimized for the processor that numba is told of, and its name there.

    The code needs no Python: numba's wrappers are left out, and kernels raise nothing.  Its function takes the address
    of its result, an address for errors that it does not use, and the arguments.
    """
    compiled = numba.njit(_signature(function), no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    [overload_] = compiled.overloads.values()
    return overload_.library.get_llvm_str(), overload_.fndesc.llvm_func_name


def _signature(function: Callable[..., Any]) -> str:
    """Return the types of *function*, all whose arguments are 64-bit numbers, and let numba compile what it calls."""
    _register_callees(function)
    assert isinstance(function, FunctionType)  # noqa: S101 - kernels are
    return f"int64({', '.join(function.__code__.co_argcount * ['int64'])})"


def _rename_by_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return *function* with a name that contains a digest of all sources of kernels: numba's cache uses the name.

    numba itself looks only at the function's own file: after an upgrade it would load machine code with the old bodies
    of the functions that this one calls.
    """
    assert isinstance(function, FunctionType)  # noqa: S101 - kernels are
    named = FunctionType(function.__code__, function.__globals__, function.__name__)
    named.__qualname__ = f"{function.__name__}_{digest_of_sources()}"
    return named


def _register_callees(function: Callable[..., Any]) -> None:
    """Let numba compile the plain functions that *function* calls, and those that they call."""
    if not isinstance(function, FunctionType):
        return
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType) and called not in _registered:
            _registered.add(called)
            register_jitable(forceinline=True)(called)  # numba's calls take longer than what most of them do
            _register_callees(called)


def _load(bits: int) -> Any:
    """Return the intrinsic that loads a number of *bits*; eight bytes are signed, fewer are not."""

    def typed(_context: Any, address: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            return builder.zext(builder.load(pointer, align=1), ir.IntType(64))

        return types.int64(address), generate

    return intrinsic(typed)


def _store(bits: int) -> Any:
    """Return the intrinsic that stores the lowest *bits* of a number."""

    def typed(_context: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - numba names the context
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            target, number = arguments
            pointer = builder.inttoptr(target, ir.IntType(bits).as_pointer())
            narrow = builder.trunc(number, ir.IntType(bits)) if bits < number.type.width else number
            builder.store(narrow, pointer, align=1)
            return context.get_dummy_value()

        return types.void(address, types.int64), generate

    return intrinsic(typed)


def _copy16(_context: Any, target: Any, source: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.VectorType(ir.IntType(64), 2).as_pointer()
        to, at = (builder.inttoptr(argument, word) for argument in arguments)
        builder.store(builder.load(at, align=1), to, align=1)
        return context.get_dummy_value()

    return types.void(target, source), generate


def _high_bits32(_context: Any, address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), 32)
        every = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
        negative = builder.icmp_signed("<", every, ir.Constant(kind, None))  # one instruction with AVX2
        return builder.zext(builder.bitcast(negative, ir.IntType(32)), ir.IntType(64))

    return types.int64(address), generate


def _prefetch(_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), number(0), number(3), number(1)])  # to read
        return context.get_dummy_value()

    return types.void(address), generate


def _low_zeros(_context: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(value), generate


def _overload(function: Any, inner: Any) -> None:
    """Let compiled code use *inner*, of one or two numbers, where it calls *function*."""

    def one(address: Any) -> Any:
        return inner(address)

    def two(target: Any, value: Any) -> Any:
        return inner(target, value)

    names = function.__code__.co_varnames
    if len(names) == 1:
        overload(function, inline="always", strict=False)(lambda address: one)  # noqa: ARG005 - numba matches parameters by their names
    else:
        overload(function, inline="always", strict=False)(lambda target, value: two)  # noqa: ARG005 - numba matches parameters by their names


for _function, _bits in _LOADS.items():
    _overload(_function, _load(_bits))
for _place, _bits in _STORES.items():
    _overload(_place, _store(_bits))
_overload(memory.copy16, intrinsic(_copy16))
_overload(memory.high_bits32, intrinsic(_high_bits32))
_overload(memory.prefetch, intrinsic(_prefetch))
_overload(memory.low_zeros, intrinsic(_low_zeros))
overload(memory.wrap64, inline="always", strict=False)(lambda value: lambda value: value)  # noqa: ARG005 - numba matches parameters by their names
