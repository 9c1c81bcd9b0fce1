"""The types of pyarrow in stubs/ are those of pyarrow."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

STUBS = Path(__file__).parents[1] / "stubs"
OF_C = {"pyarrow.Buffer.__buffer__"}
"""A buffer has the method from Python 3.12 on; before, C alone knows that it is one."""


def lacking(stub: ast.Module | ast.ClassDef, real: object, name: str) -> Iterator[str]:
    """The public names in *stub*, the types of *real*, that *real* does not have."""
    for node in stub.body:
        for given in names_of(node, in_class=isinstance(stub, ast.ClassDef)):
            if given.startswith("_") and not given.endswith("__"):
                continue  # names of the stubs alone
            if not hasattr(real, given):
                yield f"{name}.{given}"
            elif isinstance(node, ast.ClassDef):
                yield from lacking(node, getattr(real, given), f"{name}.{given}")


def names_of(node: ast.stmt, *, in_class: bool) -> list[str]:
    """What a statement names; a variable of a class may be one of its instances alone."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and not in_class:
        return [ast.unparse(node.target)]
    return [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []


def test_the_stubs_name_nothing_that_pyarrow_lacks() -> None:
    found = set()
    for path in sorted(STUBS.rglob("*.pyi")):
        name = ".".join(path.relative_to(STUBS).with_suffix("").parts).removesuffix(".__init__")
        found |= set(lacking(ast.parse(path.read_text("utf-8")), importlib.import_module(name), name))
    assert found <= OF_C


def test_a_name_that_is_not_there_is_found() -> None:
    stub = "class Table:\n    def none(self) -> None: ...\n    shape: int\n_Own = int\nnone: int\nschema: int\n"
    assert list(lacking(ast.parse(stub), importlib.import_module("pyarrow"), "pa")) == ["pa.Table.none", "pa.none"]
