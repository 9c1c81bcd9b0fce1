"""Make a table, check it, and break copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hudiformat as hf
from tests.check.repair.breaking import age
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.sound_tables.check import FAULTS, check_pending, check_rows, check_sound, check_what_is_taken
from tests.sound_tables.maker import Maker
from tests.sound_tables.recipes import Recipe


def make(hudi: RealHudi, path: Path, recipe: Recipe) -> None:
    """Have *hudi* make the table of *recipe* at *path*."""
    maker = Maker(hudi, path, recipe.name, recipe.options)
    try:
        maker.write(recipe.feature.first, range(recipe.feature.count))
        for step in recipe.feature.steps:
            step(maker)
    finally:
        maker.forget()
    if recipe.feature.is_pending and not hf.open_table(path).timeline.pending:
        raise RealHudiError("Hudi has made no plan")


def check(hudi: RealHudi, path: Path, recipe: Recipe) -> None:
    """Raise an AssertionError unless all is well with the table of *recipe* at *path*."""
    theirs = hudi.read(path, dict(recipe.feature.reading))
    check_rows(hf.open_table(path).snapshot(), theirs, but=recipe.feature.of_path)
    (check_pending if recipe.feature.is_pending else check_sound)(path)


def check_faults(path: Path, scratch: Path) -> dict[str, str]:
    """Break copies of the table at *path*, each in another way, and repair them; what is wrong then, by the fault.

    A fault that the table cannot have, as it has no such file, is not among them.
    """
    found = {}
    for fault in FAULTS:
        broken = scratch / f"{path.name}-{fault.__name__}"
        shutil.copytree(path, broken)
        try:
            fault(broken)
        except (StopIteration, ValueError, IndexError):
            pass
        else:
            age(broken)
            found[fault.__name__] = outcome(partial(check_what_is_taken, broken, {}))
        shutil.rmtree(broken)
    return found


def outcome(act: Callable[[], None]) -> str:
    """What *act* has raised, in a line; empty if nothing."""
    try:
        act()
    except (AssertionError, hf.HudiFormatError, RealHudiError) as error:
        return f"{type(error).__name__} {' '.join(str(error).split())[:600]}"
    return ""
