"""Builds the wheel of hudiformat-kernels: its kernels as machine code, which runs without numba.

    python -m tools.kernels            # into dist

numba compiles the same functions that it compiles in a process with the extra ``jit``, the linker ``ld`` makes a shared
library of them.  The library takes nothing from Python, nor from the C library, so one wheel is for every version of
Python 3, with glibc and with musl.  There are two libraries, for x86-64 with SSE 4.2, which pyarrow needs too, and with
AVX2.  What was built from the same sources before is taken from the cache.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hudiformat
from hudiformat.codec.avro.compiled import decoding, encoding
from hudiformat.file_group.base_file import bloom_kernel
from hudiformat.kernels.ahead import AVX2_LIBRARY, LIBRARY, PACKAGE, PREFIX, digest_of_sources

ROOT = Path(__file__).parents[1]
HERE = (sys.platform, platform.machine())
MACHINE = ("linux", "x86_64")
"""The system and the processor that kernels can be built on, and are for."""
KERNELS = (decoding.walk, decoding.chain, encoding.write, bloom_kernel.mark)
PROCESSORS = {LIBRARY: ("x86-64-v2", ""), AVX2_LIBRARY: ("x86-64-v2", "+avx2")}
"""The processor and its additional features, in LLVM's words, that each library is for."""
TAG = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"
_INIT = '''"""Machine code of hudiformat's kernels.  The module hudiformat.kernels.ahead loads it."""

SOURCES = "{digest}"
'''
_METADATA = """\
Metadata-Version: 2.4
Name: hudiformat-kernels
Version: {version}
Summary: The kernels of hudiformat, compiled for x86-64 and Linux
License-Expression: Apache-2.0
License-File: LICENSE
Author: The hudiformat developers
Project-URL: Homepage, https://hudiformat.readthedocs.io/
Requires-Python: >=3.10
"""
_WHEEL = "Wheel-Version: 1.0\nGenerator: hudiformat tools.kernels\nRoot-Is-Purelib: false\n"
_CALL = """
declare i32 @{inner}(ptr, ptr, {types})
define i64 @{name}({arguments}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @{inner}(ptr %result, ptr %error, {arguments})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


class KernelsError(Exception):
    """Why the kernels cannot be built."""


def build_package() -> Path:
    """Return the folder with the package ``hudiformat_kernels``, which is built unless it is in the cache.

    Raises:
        KernelsError: this is no machine that kernels can be built on, or numba or the linker failed.
    """
    if HERE != MACHINE:
        raise KernelsError(f"kernels are built on Linux for x86-64, this is {' on '.join(HERE)}")
    cache = Path(os.environ.get("HUDIFORMAT_CACHE") or Path.home() / ".cache" / "hudiformat")
    name = hashlib.sha256(Path(__file__).read_bytes() + digest_of_sources().encode()).hexdigest()[:16]
    target = cache / f"kernels-{name}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            package = Path(scratch, "whole", PACKAGE)
            package.mkdir(parents=True)
            for library in PROCESSORS:
                _build_library(library, package)
            package.joinpath("__init__.py").write_text(_INIT.format(digest=digest_of_sources()))
            try:
                package.parent.rename(target)
            except OSError:  # another process was first
                if not target.exists():
                    raise
    return target


def _build_library(library: str, folder: Path) -> None:
    """Compile in a process of its own, because numba looks for its processor when it is imported.

    Raises:
        KernelsError: numba or the linker failed.
    """
    name, features = PROCESSORS[library]
    environ = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch, "kernels.o")
        _run([sys.executable, "-m", "tools.kernels", "--compile", library, code], environ)
        # what is not defined is an error here: the library is to need no other one
        _run(["ld", "-shared", "-s", "--no-undefined", "-z", "noexecstack", "-o", folder / library, code], environ)


def _run(command: Sequence[str | Path], environ: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise KernelsError(f"there is no {command[0]} here: install binutils") from error
    if done.returncode:
        raise KernelsError(f"{' '.join(map(str, command[:4]))} failed:\n{done.stderr[-3000:]}")


def compile_kernels(library: str) -> bytes:
    """Return the object code of all kernels, as numba compiles them for the processor that this process is told of."""
    from llvmlite import binding  # noqa: PLC0415 - numba comes with an extra

    name, features = PROCESSORS[library]
    module, *others = [_module(kernel) for kernel in KERNELS]
    for other in others:
        module.link_in(other)
    for function in module.functions:
        if not function.is_declaration and not function.name.startswith(PREFIX):
            function.linkage = "internal"
    for variable in module.global_variables:  # numba's, which nothing uses
        variable.linkage = "internal"
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(cpu=name, features=features, opt=3, reloc="pic", codemodel="default")
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _module(kernel: Callable[..., Any]) -> Any:
    """Return LLVM's module with a kernel, under its name, as a function that C can call."""
    from llvmlite import binding  # noqa: PLC0415 - numba comes with an extra

    from hudiformat.kernels.native import compile_to_ir  # noqa: PLC0415 - it imports numba

    text, inner = compile_to_ir(kernel)
    count = kernel.__code__.co_argcount
    types, arguments = (", ".join(f"i64{name.format(index)}" for index in range(count)) for name in ("", " %a{}"))
    module = binding.parse_assembly(text)
    call = _CALL.format(inner=inner, name=PREFIX + kernel.__name__, types=types, arguments=arguments)
    module.link_in(binding.parse_assembly(call))
    return module


def build_wheel(folder: Path) -> Path:
    """Build the wheel in *folder*; the same sources give the same bytes.

    Raises:
        KernelsError: as :func:`build_package`.
    """
    package = build_package() / PACKAGE
    info = f"{PACKAGE}-{hudiformat.__version__}.dist-info"
    contents = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    contents[f"{info}/METADATA"] = _METADATA.format(version=hudiformat.__version__).encode()
    tags = "".join(f"Tag: py3-none-{one}\n" for one in TAG.split("-")[2].split("."))
    contents[f"{info}/WHEEL"] = (_WHEEL + tags).encode()
    contents[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    contents[f"{info}/RECORD"] = _record(contents, f"{info}/RECORD").encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{PACKAGE}-{hudiformat.__version__}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in contents.items():
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return wheel


def _record(contents: dict[str, bytes], itself: str) -> str:
    lines = []
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{itself},,\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel; 1 if that is not possible here."""
    parser = argparse.ArgumentParser(prog="python -m tools.kernels", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", default=ROOT / "dist", help="where to put the wheel")
    parser.add_argument("--compile", nargs=2, metavar=("LIBRARY", "FILE"), help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.compile:
        library, file = parsed.compile
        Path(file).write_bytes(compile_kernels(library))
        return 0
    try:
        wheel = build_wheel(parsed.keep)
    except KernelsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{wheel}: {wheel.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
