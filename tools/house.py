"""Print figures about the structure of the package: ``python -m tools.house``, with ``--json`` for programs.

The figures are hints for a reader of the code.  None of them is a limit: nothing is split or named to meet a number.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import hudiformat

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "hudiformat"
LONG_FUNCTION = 60
PRIVATE_WORDS = frozenset(
    [
        "upkeep",
        "exclusion",
        "patience",
        "takenaway",
        "carried",
        "doubtful",
        "told",
        "meetings",
        "fitted",
        "joined",
        "suited",
        "gone",
        "settle",
    ]
)
"""Nouns and participles that only this project understood, and that must not come back as names."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    found = figures()
    if parser.parse_args().json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:32} {value}")


def figures() -> dict[str, int | str]:
    """Return the figures by their names, in the order in which they are printed."""
    modules = sorted(PACKAGE.rglob("*.py"))
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "golden" not in path.parts]
    functions = [found for path in modules for found in functions_of(path)]
    longest, path, name = max(functions)
    lines = {module: _lines(module) for module in modules}
    module = max(modules, key=lines.__getitem__)
    return {
        "top-level entries": len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]),
        "modules": len(modules),
        "lines of the package": sum(lines.values()),
        "lines of the tests": sum(map(_lines, tests)),
        "comments per 100 lines": f"{100 * sum(map(_comments, modules)) / sum(lines.values()):.1f}",
        "longest module": f"{lines[module]} lines, {module.relative_to(PACKAGE)}",
        "longest function": f"{longest} lines, {path.relative_to(PACKAGE)}:{name}",
        "functions beyond 60 lines": sum(length > LONG_FUNCTION for length, _, _ in functions),
        "names with private words": len({name for path in modules for name in private_names(path)}),
        "imperative docstrings (D401)": "on" if is_rule_on("D401") else "off",
        "Any in public signatures": len(list(public_any())),
    }


def functions_of(path: Path) -> Iterator[tuple[int, Path, str]]:
    """Yield the length in lines, the path and the name of each function of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            yield node.end_lineno - node.lineno + 1, path, node.name


def private_names(path: Path) -> Iterator[str]:
    """Yield the modules, functions and classes with a private word in their names; public names stay as they are."""
    names = [path.stem]
    names += [
        node.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    for name in names:
        if name not in hudiformat.__all__ and PRIVATE_WORDS & {word.lower() for word in _WORDS.findall(name)}:
            yield f"{path.relative_to(PACKAGE)}:{name}"


def public_any() -> Iterator[str]:
    """Yield the parameters and results of public functions and methods whose annotation is Any, or has it inside."""
    for name in hudiformat.__all__:
        value = getattr(hudiformat, name)
        members = inspect.getmembers(value) if inspect.isclass(value) else [("", value)]
        for member, found in members:
            function = found.fget if isinstance(found, property) else found
            if member.startswith("_") or not inspect.isfunction(function):
                continue
            if not (function.__module__ or "").startswith("hudiformat"):
                continue
            for parameter, annotation in inspect.get_annotations(function).items():
                if re.search(r"\bAny\b", str(annotation)):
                    yield f"{name}.{member}({parameter})"


def is_rule_on(rule: str) -> bool:
    """Return whether ruff checks *rule*, by the list of rules that pyproject.toml leaves out and the convention."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    is_ignored = re.search(rf'^ *"{rule}"', text, re.MULTILINE) is not None
    return not is_ignored and f'extend-select = ["{rule}"]' in text


def _lines(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def _comments(path: Path) -> int:
    with path.open("rb") as file:
        return sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(file.readline))


if __name__ == "__main__":
    main()
