"""A sample of ``python -m tests.sound_tables``."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.conformance.hudi import RealHudi
from tests.effort import only_long
from tests.sound_tables.recipes import Recipe, recipes
from tests.sound_tables.run import check, make

DRAWN = Random(1).sample(list(recipes("1.2.0")), 16)


@only_long  # tests/check/test_sound_tables.py has tables of each Hudi in any run
@pytest.mark.hudi
@pytest.mark.parametrize("recipe", DRAWN, ids=lambda one: one.name)
def test_nothing_is_wrong_with_what_hudi_makes(hudi: RealHudi, tmp_path: Path, recipe: Recipe) -> None:
    hudi.sql("set spark.sql.parquet.enableVectorizedReader=false")
    try:
        make(hudi, tmp_path / recipe.name, recipe)
        check(hudi, tmp_path / recipe.name, recipe)
    finally:
        hudi.sql("reset spark.sql.parquet.enableVectorizedReader")
