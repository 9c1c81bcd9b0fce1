"""The tree shows the architecture: imports point one way, and the codec is pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hudiformat

LAYERS = (
    "errors",
    "wire",
    "storage",
    "naming",
    "avro",
    "sink",
    "hfile",
    "blocks",
    "logfile",
    "testing",
    "basefile",
    "timeline",
    "view",
    "merge",
    "metadata",
    "sizing",
    "options",
    "table",
    "query",
    "transaction",
    "index",
    "write",
    "services",
    "api",
    "spark",
    "the face of the package",
    "cli",
    "__main__",
)
PURE = ("wire", "naming", "avro", "hfile", "blocks", "merge", "sizing")
IMPURE_MODULES = ("io", "os", "pathlib", "random", "secrets", "socket", "subprocess", "tempfile", "time", "uuid")
PURE_NAMES = ("uuid.UUID", "uuid.uuid5", "io.BytesIO")  # a value, a hash, unlike uuid.uuid4; a buffer that is no file
IMPURE_ATTRIBUTES = ("now", "today", "utcnow")  # of date and datetime
VAGUE = ("common", "helpers", "misc", "util", "utils")

ROOT = Path(hudiformat.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]

every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_names(path: Path) -> Iterator[str]:
    """What the module imports, wherever in it, as dotted names: ``a.b.c`` for ``from a.b import c``."""
    package = ("hudiformat", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) + 1 - node.level] if node.level else ()
            source = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def imported_rooms(path: Path) -> Iterator[str]:
    for name in imported_names(path):
        if name.split(".")[0] == "hudiformat":
            yield [*name.split("."), "the face of the package"][1]


@every_module
def test_a_module_imports_only_its_own_room_and_those_above(path: Path) -> None:
    above = LAYERS[: LAYERS.index(room_of(path)) + 1]
    assert sorted(set(imported_rooms(path)) - set(above)) == []


@every_module
def test_no_module_has_a_name_that_says_nothing(path: Path) -> None:
    assert not set(path.relative_to(ROOT).with_suffix("").parts) & set(VAGUE)


pure_modules = pytest.mark.parametrize(
    "path", [path for path in MODULES if room_of(path) in PURE], ids=lambda path: str(path.relative_to(ROOT))
)


@pure_modules
def test_the_codec_imports_nothing_that_touches_files_or_chance(path: Path) -> None:
    names = set(imported_names(path)) - set(PURE_NAMES)
    assert sorted(name for name in names if name.split(".")[0] in IMPURE_MODULES) == []
    assert "storage" not in imported_rooms(path)


@pure_modules
def test_the_codec_opens_no_file_and_looks_at_no_clock(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    assert not [node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == "open"]
    assert not [node.lineno for node in nodes if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES]
