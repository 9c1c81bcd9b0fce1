"""The package changes nothing that belongs to the program that imports it, but for what is named here with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import hudiformat

pytestmark = pytest.mark.unmeasured

ROOT = Path(hudiformat.__file__).parent

CHANGES = (
    "atexit.",
    "faulthandler.",
    "gc.",
    "locale.setlocale",
    "logging.basicConfig",
    "logging.captureWarnings",
    "logging.disable",
    "logging.root",
    "logging.setLoggerClass",
    "multiprocessing.set_start_method",
    "numpy.seterr",
    "numpy.set_printoptions",
    "os.chdir",
    "os.dup2",
    "os.fchdir",
    "os.nice",
    "os.putenv",
    "os.register_at_fork",
    "os.setpriority",
    "os.umask",
    "os.unsetenv",
    "pyarrow.enable_",
    "pyarrow.log_memory_allocations",
    "pyarrow.register_extension_type",
    "pyarrow.set_",
    "pyarrow.fs.finalize_s3",
    "random.seed",
    "resource.setrlimit",
    "signal.",
    "socket.setdefaulttimeout",
    "sys.path",
    "sys.set",
    "threading.setprofile",
    "threading.settrace",
    "threading.stack_size",
    "warnings.catch_warnings",
    "warnings.filterwarnings",
    "warnings.resetwarnings",
    "warnings.simplefilter",
    "decimal.getcontext",
    "decimal.setcontext",
)
"""What changes the state of a process, by the beginning of its full name; ``gc.`` and ``signal.`` all of a module."""

STATE = ("os.environ", "sys.modules", "sys.stdout", "sys.stderr", "sys.stdin", "sys.excepthook", "sys.path")
"""What may be read, and neither assigned nor changed by a method."""
CHANGING = ("append", "clear", "extend", "insert", "pop", "popitem", "reconfigure", "remove", "setdefault", "update")

REASONS = {
    ("cli/app.py", "os.dup2"): "the command line is a process of its own; its output has been closed",
    ("cli/app.py", "sys.stdout.reconfigure"): "the command line is a process of its own",
    ("cli/maintain.py", "signal.SIGINT"): "the command line is a process of its own; handlers are put back",
    ("cli/maintain.py", "signal.SIGTERM"): "the command line is a process of its own; handlers are put back",
    ("cli/maintain.py", "signal.signal"): "the command line is a process of its own; handlers are put back",
    ("cli/printing.py", "warnings.catch_warnings"): "the command line is a process of its own",
    ("cli/printing.py", "warnings.simplefilter"): "the command line is a process of its own",
    (
        "write/reporting/metrics.py",
        "atexit.register",
    ): "only if options ask for metrics to be deleted when the process ends",
    ("spark/write/workers.py", "gc.freeze"): "only in a worker that PySpark's daemon has forked for tasks",
    ("spark/write/workers.py", "setsockopt"): "only the connection of such a worker to the JVM that sends the task",
}
"""By module and name, why it may be there."""

SPARKS = ("conf.set", "conf.unset")
"""What changes a session of Spark, by the end of its name."""
BORROWING = "spark/write/batches.py"
"""The module that gives settings of sessions back."""


def names_in(tree: ast.AST) -> dict[str, str]:
    """The full names of what a module imports, by the names that it has there."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def full_name(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name of an expression; nothing where it is none."""
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, names)
        return f"{before}.{node.attr}" if before else ""
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def changes_in(source: str) -> Iterator[str]:
    """The names of what a module may change in the process that imports it."""
    tree = ast.parse(source)
    names = names_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            yield from used(full_name(node, names), node.ctx)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from {full_name(node.value, names)} & set(STATE)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from called(full_name(node.func.value, names), node.func.attr)


def used(name: str, how: ast.expr_context) -> Iterator[str]:
    """*name*, where it is a function or module that changes the process, or something in ``sys`` or ``os`` assigned."""
    is_assigned = not isinstance(how, ast.Load)
    if "." in name and name.startswith(("sys.", "os.") if is_assigned else CHANGES):
        yield name


def called(owner: str, method: str) -> Iterator[str]:
    """The name of a method that changes *owner*."""
    if method == "setsockopt":
        yield method
    elif (owner in STATE and method in CHANGING) or f"{owner}.{method}".endswith(SPARKS):
        yield f"{owner}.{method}"


MODULES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}


@cache
def found_changes() -> set[tuple[str, str]]:
    """The module and the name of each change; parsing all modules takes seconds, which collecting must not."""
    return {(module, name) for module, source in MODULES.items() for name in changes_in(source)}


def test_nothing_that_belongs_to_the_host_is_changed() -> None:
    assert (
        sorted(
            (module, name)
            for module, name in found_changes() - REASONS.keys()
            if not (module == BORROWING and name.endswith(SPARKS))
        )
        == []
    )


def test_every_reason_is_of_something_that_is_there() -> None:
    assert sorted(REASONS.keys() - found_changes()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import gc\ngc.disable()",
        "from gc import freeze\nfreeze()",
        "import gc as g\nf = g.collect",
        "import os\nos.environ['A'] = 'b'",
        "import os\ndel os.environ['A']",
        "from os import environ\nenviron.update(A='b')",
        "import os\nos.environ.setdefault('A', 'b')",
        "import os\nos.umask(0)",
        "import sys\nsys.path.insert(0, '.')",
        "import sys\nsys.stdout = None",
        "import sys\nsys.setrecursionlimit(9)",
        "import sys\nsys.modules['a'] = None",
        "from warnings import simplefilter as s\ns('ignore')",
        "import warnings\nwith warnings.catch_warnings():\n    pass",
        "import pyarrow as pa\npa.set_cpu_count(1)",
        "import numpy as np\nnp.seterr(all='ignore')",
        "import signal\nsignal.signal(2, None)",
        "import atexit\natexit.register(print)",
        "connection.setsockopt(1, 2, 3)",
        "spark.conf.set('a', 'b')",
        "df.sparkSession.conf.unset('a')",
    ],
)
def test_each_kind_is_found(source: str) -> None:
    assert list(changes_in(source))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.environ.get('A')",
        "import os\na = os.environ['A']",
        "import sys\nsys.stdout.write('a')",
        "import warnings\nwarnings.warn('a')",
        "import logging\nlogging.getLogger('hudiformat').addHandler(logging.NullHandler())",
        "import pyarrow as pa\npa.table({})",
    ],
)
def test_what_only_reads_is_not(source: str) -> None:
    assert list(changes_in(source)) == []


MESSAGE = ("str(error)", "error.args", "str(exc)", "str(caught)")


PARSES_THEIRS = {
    "kernels/native.py": "numba has no class for it",
    "storage/hdfs.py": "hdfs-native has no class for it",
    "storage/arrow.py": "hdfs-native has Java's trace in its messages",
    "storage/opening.py": "pyarrow has no class for it",
    "storage/putting.py": "hdfs-native has no class for it",
}


def parsed_messages(source: str) -> Iterator[int]:
    """The lines where the message of an exception is searched or compared."""
    if not any(one in source for one in MESSAGE):
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.expr):
            continue
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts = [node.func.value] if node.func.attr in ("startswith", "endswith", "partition", "split") else []
            parts += node.args if node.func.attr in ("search", "match", "fullmatch", "findall") else []
        if any(ast.unparse(part).startswith(MESSAGE) for part in parts):
            yield node.lineno


def test_no_message_of_ours_is_parsed() -> None:
    found = {(module, line) for module, source in MODULES.items() for line in parsed_messages(source)}
    assert sorted((module, line) for module, line in found if module not in PARSES_THEIRS) == []
    assert {module for module, _ in found} == set(PARSES_THEIRS)


@pytest.mark.parametrize(
    "source",
    ["'a' in str(error)", "str(error).startswith('a')", "re.search('a', str(error))", "error.args[0] == 'a'"],
)
def test_a_parsed_message_is_found(source: str) -> None:
    assert list(parsed_messages(source)) == [1]
