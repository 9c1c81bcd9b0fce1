"""The tree shows the architecture: imports point one way, and the codec is pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import hudiformat

pytestmark = pytest.mark.unmeasured

LAYERS = (
    "errors",
    "wire",
    "kernels",
    "arguments",
    "numbers",
    "notebook",
    "progress",
    "storage",
    "naming",
    "conditions",
    "codec",
    "sink",
    "timeline",
    "schema",
    "file_group",
    "metadata_table",
    "sizing",
    "table",
    "read",
    "write",
    "services",
    "check",
    "catalogs",
    "simulation",
    "advice",
    "report",
    "api",
    "polars",
    "duckdb",
    "daft",
    "ray",
    "spark",
    "testing",
    "the face of the package",
    "cli",
    "__main__",
)
PURE = (
    "wire",
    "arguments",
    "numbers",
    "notebook",
    "naming",
    "conditions",
    "codec/avro",
    "codec/hfile",
    "codec/log/content",
    *(f"codec/log/{name}" for name in ("frame", "block", "batches", "build", "selection")),
    "codec/statistics",
    *(f"catalogs/{name}" for name in ("objects", "column_types", "describing", "partition_values")),
    "schema",
    "file_group/merging",
    "sizing",
)
"""Rooms, folders and modules that touch no file, clock or randomness."""
SPILLS = "file_group/merging/spill.py"  # merges on disk what does not fit into memory
IMPURE_MODULES = ("io", "os", "pathlib", "random", "secrets", "socket", "subprocess", "tempfile", "time", "uuid")
READS_A_SWITCH = "kernels/__init__.py"  # an environment variable, which changes the speed and nothing else
PURE_NAMES = ("uuid.UUID", "uuid.uuid5", "io.BytesIO")  # a value, a hash, unlike uuid.uuid4; a buffer that is no file
IMPURE_ATTRIBUTES = ("now", "today", "utcnow")  # of date and datetime
FACES = ("", "duckdb", "spark", "sink", "sizing", "testing", "cli", "codec/parquet", "kernels")
"""Folders whose ``__init__`` gives names to users, or has code of its own; all others have a docstring alone."""
LARGEST_FOLDER, DEEPEST_FOLDER = 25, 3
VAGUE = ("common", "helpers", "misc", "util", "utils")

ROOT = Path(hudiformat.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def is_below(path: Path, room: str) -> bool:
    return LAYERS.index(room) > LAYERS.index(room_of(path))


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """What the module imports, wherever in it, as dotted names: ``a.b.c`` for ``from a.b import c``."""
    return tuple(_imported_names(path))


def _imported_names(path: Path) -> Iterator[str]:
    package = ("hudiformat", *path.relative_to(ROOT).parent.parts)
    for node in nodes_of(path):
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


def name_of(path: Path) -> str:
    """The dotted name of a module; a package's is that of its folder."""
    parts = ["hudiformat", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(one) for one in [ROOT / "__init__.py", *MODULES]}


def imported_modules(path: Path) -> Iterator[str]:
    """The modules that a module imports from, where ``from a import b`` may name a module or something in one."""
    for name in imported_names(path):
        found = name if name in NAMES else name.rpartition(".")[0]
        if found != name_of(path):
            yield found


def test_a_module_imports_only_its_own_room_and_those_above() -> None:
    below = [(name_of(path), room) for path in MODULES for room in set(imported_rooms(path)) if is_below(path, room)]
    assert sorted(below) == []


def test_the_file_sink_knows_no_tables() -> None:
    found = {name for path in MODULES if room_of(path) == "sink" for name in imported_modules(path)}
    rooms = {name.split(".")[1] for name in found if name.startswith("hudiformat.")}
    assert rooms <= {"errors", "wire", "arguments", "storage", "naming", "codec", "sink"}
    assert [name for name in found if name.startswith("hudiformat.codec.log")] == []


def test_formats_of_files_do_not_know_log_files() -> None:
    formats = [path for path in MODULES if room_of(path) == "codec" and "log" not in path.relative_to(ROOT).parts]
    names = {(name_of(path), name) for path in formats for name in imported_names(path)}
    assert sorted(pair for pair in names if pair[1].startswith("hudiformat.codec.log")) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {name_of(path): path for path in [ROOT / "__init__.py", *MODULES]}
    imports = {name: {found for found in imported_modules(path) if found in modules} for name, path in modules.items()}
    # What imports nothing is removed, then what imports only that, and so on: circles are left.
    while free := [name for name, found in imports.items() if not found]:
        for name in free:
            del imports[name]
        for found in imports.values():
            found.difference_update(free)
    assert sorted(imports) == []


def test_no_module_only_forwards_what_others_define() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix(): path for path in MODULES if path.name == "__init__.py"}
    assert [name for name, path in folders.items() if name not in FACES and len(tree_of(path).body) > 1] == []
    others = {name_of(path): tree_of(path).body for path in MODULES if path.name != "__init__.py"}
    assert [name for name, body in others.items() if all(isinstance(node, IMPORTS) for node in body)] == []


def test_folders_are_shallow_and_can_be_surveyed() -> None:
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if len(list(folder.glob("*.py"))) > LARGEST_FOLDER] == []
    assert [folder for folder in folders if len(folder.relative_to(ROOT).parts) > DEEPEST_FOLDER] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in NAMES if set(name.split(".")) & set(VAGUE)] == []


CODEC = [
    path
    for path in MODULES
    if path.relative_to(ROOT).as_posix().removesuffix(".py").startswith(tuple(f"{name}" for name in PURE))
    and path != ROOT / SPILLS
]


def test_the_codec_imports_nothing_that_touches_files_or_chance() -> None:
    names = {(path, name) for path in CODEC for name in imported_names(path) if name not in PURE_NAMES}
    names -= {(ROOT / READS_A_SWITCH, "os")}
    assert sorted((name_of(path), name) for path, name in names if name.split(".")[0] in IMPURE_MODULES) == []
    assert [name_of(path) for path in CODEC if "storage" in imported_rooms(path)] == []


def test_the_codec_opens_no_file_and_looks_at_no_clock() -> None:
    nodes = [(name_of(path), node) for path in CODEC for node in nodes_of(path)]
    assert [(name, node.lineno) for name, node in nodes if isinstance(node, ast.Name) and node.id == "open"] == []
    looks = [(name, node) for name, node in nodes if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES]
    assert [(name, node.lineno) for name, node in looks] == []


def test_files_are_read_by_ranges_only_where_errors_are_ours() -> None:
    """What ``open_input`` gives raises pyarrow's errors; ``reading`` turns them into a StorageError.

    Base files turn them into other errors, and publishing asks for nothing but the size.
    """
    callers = [path for path in MODULES if ".open_input(" in path.read_text("utf-8")]
    names = [str(path.relative_to(ROOT)) for path in callers]
    assert [name for name in names if not name.startswith("storage/")] == [
        "file_group/base_file/hfile.py",
        "file_group/base_file/orc.py",
        "file_group/base_file/parquet.py",
        "write/commit/publishing.py",
        "write/handles/copied_groups.py",
    ]


IMPORTS = (ast.Import, ast.ImportFrom, ast.Expr)
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def searches_of_names(function: ast.AST) -> set[int]:
    """The lines where any name, or in a loop one that is known, is looked for among the names of a schema.

    They are a list, which Arrow makes each time; with a thousand columns it takes some ten thousandths of a second, and
    who looks for a name may be called for each column.  ``get_field_index`` looks it up, and so does a set.
    """
    lists = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and is_list_of_names(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    parts = [part for loop in ast.walk(function) if isinstance(loop, LOOPS) for part in repeated_in(loop)]
    repeated = {node for part in parts for node in ast.walk(part)}
    return {
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
        for searched in [node.comparators[0]]
        if (is_list_of_names(searched) and (node in repeated or not is_constant(node.left)))
        or (isinstance(searched, ast.Name) and searched.id in lists and node in repeated)
    }


def is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("names", "column_names")


def repeated_in(loop: ast.AST) -> list[ast.AST]:
    """What a loop does more than once: all but what it goes through."""
    first = loop.iter if isinstance(loop, ast.For) else getattr(loop, "generators", [None])[0]
    first = first.iter if isinstance(first, ast.comprehension) else first
    return [part for child in ast.iter_child_nodes(loop) for part in without(child, first)]


def without(node: ast.AST, other: ast.AST | None) -> list[ast.AST]:
    if isinstance(node, ast.comprehension):
        return [part for part in ast.iter_child_nodes(node) if part is not other]
    return [node] if node is not other else []


def test_no_column_is_looked_for_in_a_list_of_all() -> None:
    functions = [(path, node) for path in MODULES for node in nodes_of(path) if isinstance(node, ast.FunctionDef)]
    found = {(name_of(path), line) for path, function in functions for line in searches_of_names(function)}
    assert sorted(found) == []
