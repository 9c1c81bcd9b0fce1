"""Builds the package as it is published, looks into it, and tries it in empty environments.

``python -m tools.package`` tries it with each version of Python that is found, on PATH or among pyenv's; with
``--python 3.11``, or a path, with that one.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools.install import uv_environ

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.14t", "3.15")
IN_SDIST = ("hudiformat/", "spec/")
"""The folders of the sdist; at its top are the files of ``AT_TOP``."""
AT_TOP = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", "pyproject.toml", ".gitignore"}
NEEDED = {"hudiformat/py.typed", "hudiformat/table/options/hudi_keys.txt", "hudiformat/__init__.py"}
NEEDED |= {str(path.relative_to(ROOT)) for path in (ROOT / "hudiformat" / "report" / "page").iterdir()}
SMOKE = """
import subprocess, sys
import hudiformat as hf, pyarrow as pa
schema = pa.schema([("id", pa.string()), ("ts", pa.int64())])
table = hf.create_table("t", name="t", schema=schema, record_key="id", ordering="ts", table_type="MERGE_ON_READ")
table.insert(pa.table({"id": ["a", "b"], "ts": [1, 1]}))
table.upsert(pa.table({"id": ["a"], "ts": [2]}))
assert sorted(hf.open_table("t").snapshot(columns=["ts"])["ts"].to_pylist()) == [1, 2]
assert table.count("id = 'a'") == 1
for command in (["--version"], ["verify", "t"], ["read", "t", "--columns", "id"]):
    subprocess.run([sys.executable, "-m", "hudiformat", *command], check=True, stdout=subprocess.DEVNULL)
assert "site-packages" in hf.__file__
"""
KERNELS = """
import subprocess, sys
said = subprocess.run([sys.executable, "-m", "hudiformat", "doctor"], check=True, capture_output=True, text=True).stdout
assert "kernels: used at once, compiled ahead" in said, said
"""


class PackageError(Exception):
    """What is wrong with the package."""


def build(target: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it, in *target*."""
    run([sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", target, ROOT])
    [sdist], [wheel] = target.glob("*.tar.gz"), target.glob("*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    """Raise unless each has what it should, and nothing else.

    Raises:
        PackageError: a file is missing, or there by mistake.
    """
    with tarfile.open(sdist) as archive:
        in_sdist = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    with zipfile.ZipFile(wheel) as zipped:
        names = set(zipped.namelist())
        metadata = next(zipped.read(name).decode() for name in names if name.endswith("/METADATA"))
    check_names(in_sdist, names)
    check_links(metadata)


def check_names(in_sdist: set[str], in_wheel: set[str]) -> None:
    """Raise unless the names of the files are those that are expected.

    Raises:
        PackageError: a file is missing, or there by mistake.
    """
    stray = {name for name in in_sdist if not name.startswith(IN_SDIST) and name not in AT_TOP}
    stray |= {name for name in in_wheel if not re.match(r"hudiformat(/|-[^/]*\.dist-info/)", name)}
    stray |= {name for name in in_sdist | in_wheel if "__pycache__" in name or name.endswith((".pyc", ".orig", "~"))}
    if stray:
        raise PackageError(f"files that do not belong there: {', '.join(sorted(stray))}")
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "hudiformat").rglob("*.py")}
    if missing := ((NEEDED | sources) - in_wheel) | ((NEEDED | sources) - in_sdist):
        raise PackageError(f"files that are missing: {', '.join(sorted(missing))}")


def check_links(metadata: str) -> None:
    """Raise if the README, as the index shows it, has links that work in the repository alone.

    Raises:
        PackageError: there is a relative link.
    """
    links = re.findall(r"\]\(([^)\s]+)\)", metadata)
    if wrong := [link for link in links if not link.startswith(("https://", "#"))]:
        raise PackageError(f"links that a package index cannot follow: {', '.join(wrong)}")


def environment(python: Path, folder: Path) -> Path:
    """The interpreter of a new environment, in which nothing is, not even pip."""
    run([python, "-m", "venv", "--without-pip", folder])
    return folder / "bin" / "python"


def install(python: Path, *what: str | Path) -> None:
    """Install packages, by names or files, and with uv's options, into the environment of *python*."""
    run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *what])


def interpreters() -> dict[str, Path]:
    """The interpreters that are found, by version."""
    found = {}
    for version in VERSIONS:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        candidates = [*map(str, pyenv), shutil.which(f"python{version}")]
        for candidate in filter(None, candidates):
            if version_of(Path(candidate)) == version:
                found[version] = Path(candidate)
                break
    return found


def chosen_interpreters(asked: Sequence[str] | None) -> dict[str, Path]:
    """The interpreters of the versions, or at the paths, that are *asked* for; all that are found, for None."""
    found = interpreters()
    return {name: found.get(name, Path(name)) for name in asked} if asked else found


def version_of(python: Path) -> str:
    """The version of an interpreter, such as 3.11, or 3.14t without a global lock; nothing where it does not run."""
    command = [str(python), "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2] + sys.abiflags)"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def smoke(wheel: Path, python: Path, folder: Path, kernels: Path | None = None) -> str:
    """Install the wheel with its command line, and *kernels*, into an empty environment and try it.

    The result says which pyarrow it got.
    """
    inside = environment(python, folder / "environment")
    install(inside, f"{wheel}[cli]", *filter(None, [kernels]))
    run([inside, "-c", SMOKE], cwd=folder)
    if kernels is not None:
        run([inside, "-c", KERNELS], cwd=folder)
    listed = run([inside, "-c", "import pyarrow; print(pyarrow.__version__)"], cwd=folder)
    return f"pyarrow {listed.strip()}"


def run(command: Sequence[str | Path], *, cwd: Path | None = None) -> str:
    """What a command prints.

    Raises:
        PackageError: it failed.
    """
    environ = {key: value for key, value in uv_environ().items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageError(f"{' '.join(map(str, command[:5]))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def _kernels(folder: Path) -> Path | None:
    """The wheel of kernels; None, and a line that says so, on a machine that they are not for.

    Raises:
        PackageError: they could not be built.
    """
    from tools.kernels import HERE, MACHINE, KernelsError, build_wheel  # noqa: PLC0415 - hudiformat and numba are needed

    if HERE != MACHINE:
        print("without hudiformat-kernels, which are for Linux on x86-64")
        return None
    try:
        return build_wheel(folder / "kernels")
    except KernelsError as error:
        raise PackageError(str(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, look, and try; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.package", description=__doc__)
    parser.add_argument("--python", action="append", help="a version, or a path; may be repeated")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="copy sdist and wheels there, once they have been tried"
    )
    parsed = parser.parse_args(arguments)
    chosen = chosen_interpreters(parsed.python)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            sdist, wheel = build(Path(scratch))
            check_contents(sdist, wheel)
            print(f"{sdist.name} and {wheel.name}: what they should contain, and nothing else")
            kernels = _kernels(Path(scratch))
            for number, (name, python) in enumerate(chosen.items()):
                folder = Path(scratch, f"try-{number}")
                folder.mkdir()
                print(f"Python {name}: works, with {smoke(wheel, python, folder, kernels)}", flush=True)
            if parsed.keep is not None:
                parsed.keep.mkdir(exist_ok=True)
                for file in filter(None, (sdist, wheel, kernels)):
                    shutil.copy(file, parsed.keep)
    except PackageError as error:
        print(error, file=sys.stderr)
        return 1
    missing = [version for version in VERSIONS if version not in chosen]
    if missing and not parsed.python:
        print(f"not found here: Python {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
