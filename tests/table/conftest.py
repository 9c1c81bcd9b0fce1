from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hudiformat import Table
from tests.table.golden import GoldenTable, unpack
from tests.table.support import Clock, new_table


@pytest.fixture(scope="package", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Tests here look at files and never at power cuts: waiting for the disk took a third of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _handle: None)
        yield


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GoldenTable]:
    """A golden table by its name; not to be changed."""
    root = tmp_path_factory.mktemp("golden")
    return lambda name: unpack(name, root)


@pytest.fixture
def own_golden(golden: Callable[[str], GoldenTable], tmp_path: Path) -> Callable[[str], Path]:
    """The folder of a copy of a golden table, which the test may change."""
    return lambda name: Path(shutil.copytree(golden(name).table, tmp_path / name))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["SIMPLE", "BUCKET"])
def any_index(request: pytest.FixtureRequest) -> dict[str, str]:
    """Options for each way of finding a record's file group."""
    more = {"hoodie.bucket.index.num.buckets": "3"} if request.param == "BUCKET" else {}
    return {"hoodie.index.type": request.param, **more}


@pytest.fixture
def table(tmp_path: Path, clock: Clock) -> Table:
    return new_table(tmp_path / "table", clock=clock)
