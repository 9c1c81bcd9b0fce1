"""Make the tables and check them: ``python -m tests.sound_tables --hudi 1.2.0 --keep FOLDER``.

``python -m tests.sound_tables --faults FOLDER`` breaks what is in a folder, a copy for each fault, and repairs it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from random import Random

from tests.conformance.hudi import RealHudi
from tests.sound_tables.recipes import VERSIONS, Recipe, recipes
from tests.sound_tables.run import check, check_faults, make, outcome


def break_all(paths: Iterable[Path], ended: Counter[str]) -> None:
    """Print how the faults of the tables at *paths* end."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            faults = check_faults(path, Path(folder))
            ended.update("fault wrong" if one else "fault" for one in faults.values())
            print(f"{path.name}: {len(faults)} faults", *(f"\n    {key}: {one}" for key, one in faults.items() if one))
            sys.stdout.flush()


def make_all(chosen: Iterable[Recipe], version: str, folder: Path, ended: Counter[str]) -> None:
    """Print whether the tables that *version* makes in *folder* are sound."""
    with RealHudi(version) as hudi:
        hudi.sql("set spark.sql.parquet.enableVectorizedReader=false")  # it does not know renamed fields of structs
        for recipe in chosen:
            path = folder / recipe.name
            failed = outcome(partial(make, hudi, path, recipe))
            wrong = failed or outcome(partial(check, hudi, path, recipe))
            ended["not made" if failed else "wrong" if wrong else "sound"] += 1
            print(f"{recipe.name}: {'not made: ' * bool(failed)}{wrong or 'sound'}", flush=True)


def main() -> int:
    """Run what the command line asks for; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.sound_tables", description=__doc__)
    parser.add_argument("--hudi", choices=sorted({one for one, _ in VERSIONS}), default="1.2.0")
    parser.add_argument("--only", default="", help="tables whose names have this")
    parser.add_argument("--count", type=int, default=1000, help="so many of them, drawn by the version")
    parser.add_argument("--keep", type=Path, help="leave the tables in this folder")
    parser.add_argument("--faults", type=Path, help="break the tables in this folder, and make none")
    given = parser.parse_args()
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        if given.faults:
            break_all((one for one in sorted(given.faults.iterdir()) if given.only in one.name), ended)
        else:
            drawn = [one for one in recipes(given.hudi) if given.only in one.name]
            Random(given.hudi).shuffle(drawn)
            make_all(drawn[: given.count], given.hudi, given.keep or Path(folder), ended)
    print(dict(ended))
    return 1 if ended["wrong"] or ended["fault wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
