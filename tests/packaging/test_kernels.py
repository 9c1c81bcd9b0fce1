"""The wheel of kernels that are compiled ahead."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from hudiformat.kernels import ahead
from tools import kernels

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def package() -> Path:
    try:
        return kernels.build_package() / ahead.PACKAGE
    except kernels.KernelsError as error:
        pytest.skip(str(error))


def test_the_libraries_need_nothing_and_hold_the_kernels_alone(package: Path) -> None:
    for name in kernels.PROCESSORS:
        listed = subprocess.run(
            ["nm", "--dynamic", str(package / name)], check=True, capture_output=True, text=True, env=os.environ
        )
        symbols = [line.split() for line in listed.stdout.splitlines()]
        assert sorted((kind, symbol) for _, kind, symbol in symbols) == [
            ("T", f"hudiformat_{kernel}") for kernel in ("chain", "mark", "walk", "write")
        ]


def test_a_processor_without_avx_can_run_the_library_for_any(package: Path) -> None:
    command = ["objdump", "--disassemble", "--no-show-raw-insn", str(package / ahead.LIBRARY)]
    code = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout
    assert "<hudiformat_walk>:" in code
    assert "%xmm" in code
    assert "%ymm" not in code


def test_the_wheel_is_of_one_digest_and_the_same_each_time(package: Path, tmp_path: Path) -> None:
    first, second = kernels.build_wheel(tmp_path / "a"), kernels.build_wheel(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as wheel:
        names = {name.partition("/")[2] for name in wheel.namelist()}
        assert f'SOURCES = "{ahead.digest_of_sources()}"' in wheel.read(f"{ahead.PACKAGE}/__init__.py").decode()
    assert names == {"__init__.py", *kernels.PROCESSORS, "METADATA", "WHEEL", "RECORD", "licenses/LICENSE"}


def test_an_installed_wheel_is_used_without_numba(package: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", with_pip=False)
    python = tmp_path / "environment" / "bin" / "python"
    wheel = kernels.build_wheel(tmp_path)
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "--python", python, "--offline", wheel], check=True)
    site = subprocess.run(
        [python, "-c", "import hudiformat_kernels as k; print(k.__path__[0])"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    environ = {key: value for key, value in os.environ.items() if key != "HUDIFORMAT_JIT"}
    code = """
import sys
from hudiformat.kernels import kernel
from hudiformat.codec.avro.compiled.decoding import chain
loaded = kernel(chain, 0)
print(loaded.__name__, "numba" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=kernels.ROOT,
        env={**environ, "PYTHONPATH": f"{Path(site).parent}{os.pathsep}{kernels.ROOT}"},
    )
    assert done.stdout.split() == ["hudiformat_chain", "False"]


def test_other_machines_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "HERE", ("linux", "riscv64"))
    assert kernels.main(["--keep", "nowhere"]) == 1
    assert capsys.readouterr().err == "kernels are built on Linux for x86-64, this is linux on riscv64\n"


def test_a_step_that_fails_says_what_it_printed() -> None:
    with pytest.raises(kernels.KernelsError, match="failed:\nno room"):
        kernels._run([sys.executable, "-c", "import sys; sys.exit('no room')"], dict(os.environ))
    with pytest.raises(kernels.KernelsError, match="there is no nowhere here: install binutils"):
        kernels._run(["nowhere"], dict(os.environ))
