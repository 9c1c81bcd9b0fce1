"""Every storage of the package passes the checks that users run on theirs; a storage that lies does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.testing.storage import STORE_CHECKS, StoreCheck
from tests.storage.conftest import STORAGES


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest) -> Storage:
    make: Callable[[pytest.FixtureRequest], Storage] = request.param
    return make(request)


@pytest.mark.all_sets
def test_every_storage_passes_every_check(storage: Storage) -> None:
    for number, check in enumerate(STORE_CHECKS):
        if storage.capabilities.map or "several pages" not in str(check):  # a thousand requests
            check(FolderStorage(storage, f"check-{number}"))


@pytest.mark.parametrize("check", STORE_CHECKS, ids=str)
def test_a_check_has_a_name_of_its_own(check: StoreCheck) -> None:
    assert [str(one) for one in STORE_CHECKS].count(str(check)) == 1
