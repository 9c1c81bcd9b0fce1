"""Every public name says what it gives back, in which unit, what it raises and where the rule comes from.

The rules are mechanical, so that nobody has to argue about them:

- Every name has a docstring; so has every public method and property of a class, its own or inherited.
- A class or function, exceptions apart, has a line ``Source: <page of spec/, or class of Hudi>``.
- A docstring that speaks of a size, length, offset or limit names a unit.
- A function or method with a ``raise`` in it has a ``Raises`` section, or its class has one.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

import hudiformat

NAMES: list[str] = list(getattr(hudiformat, "__all__", ()))
SIZES = re.compile(r"\b(sizes?|lengths?|offsets?|limits?)\b", re.IGNORECASE)
UNITS = re.compile(r"\b(bytes?|KiB|MiB|GiB|KB|MB|GB|records?|rows?|blocks?|files?|keys?|characters?)\b")


def public_objects() -> Iterator[tuple[str, Any]]:
    """The classes and functions of ``__all__``, without exceptions."""
    for name in NAMES:
        value = getattr(hudiformat, name)
        if isinstance(value, FunctionType) or (inspect.isclass(value) and not issubclass(value, BaseException)):
            yield name, value


def public_functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Functions, methods and properties' getters, each with its name and the docstring of its class."""
    for name, value in public_objects():
        if isinstance(value, FunctionType):
            yield name, value, ""
            continue
        for member in (member for member in dir(value) if not member.startswith("_")):
            function = function_of(inspect.getattr_static(value, member))
            if function and (function.__module__ or "").startswith("hudiformat"):
                yield f"{name}.{member}", function, inspect.getdoc(value) or ""


def function_of(member: object) -> Callable[..., Any] | None:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, classmethod | staticmethod):
        return member.__func__
    return member if isinstance(member, FunctionType) else None


def raises(function: Callable[..., Any]) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # made by a decorator
        return False
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


objects = pytest.mark.parametrize(("name", "value"), [pytest.param(*item, id=item[0]) for item in public_objects()])
functions = pytest.mark.parametrize(
    ("function", "class_doc"), [pytest.param(*item[1:], id=item[0]) for item in public_functions()]
)


def test_the_package_says_what_is_public() -> None:
    assert NAMES, "hudiformat.__all__ is missing or empty"
    assert sorted(set(NAMES)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name: str) -> None:
    assert hasattr(hudiformat, name)


@objects
def test_every_public_name_has_a_docstring_and_a_source(name: str, value: object) -> None:
    doc = inspect.getdoc(value) or ""
    assert doc
    assert re.search(r"^Source: \S", doc, re.MULTILINE), f"{name}: no line 'Source: ...'"
    assert not SIZES.search(doc) or UNITS.search(doc), f"{name} speaks of a size without a unit"


@functions
def test_every_public_function_has_a_docstring_with_units_and_errors(
    function: Callable[..., Any], class_doc: str
) -> None:
    doc = inspect.getdoc(function) or ""
    assert doc
    assert not SIZES.search(doc) or UNITS.search(doc), "speaks of a size without a unit"
    assert not raises(function) or re.search(r"\bRaises\b", doc + class_doc), "raises, and does not say what"


def test_names_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys, hudiformat as hf; assert 'pyarrow' not in sys.modules; assert set(hf.__all__) <= set(dir(hf)); "
        "names = set(hf.__all__) - {'TableDataset'}; "  # a dataset of pyarrow, whose module imports pandas
        "[getattr(hf, name) for name in names]; sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_has_one_module() -> None:
    assert sorted(hudiformat._MODULE_OF) == sorted(hudiformat.__all__)
    with pytest.raises(AttributeError, match="module 'hudiformat' has no attribute 'Tabel'"):
        _ = hudiformat.Tabel  # type: ignore[attr-defined]  # it is only misspelled


@pytest.mark.parametrize(
    ("package", "part", "message"),
    [
        ("pyspark", "spark", "hudiformat.spark needs PySpark: pip install 'hudiformat[spark]'"),
        ("daft", "daft", "hudiformat.daft needs Daft of 0.7 or later: pip install 'hudiformat[daft]'"),
        ("ray", "ray", "hudiformat.ray needs Ray Data: pip install 'hudiformat[ray]'"),
    ],
)
@pytest.mark.all_sets
def test_a_part_that_is_missing_is_named(package: str, part: str, message: str) -> None:
    code = f"import sys; sys.modules['{package}'] = None; import hudiformat.{part}"
    process = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert message in process.stderr
