"""The list of Hudi's configuration keys is what its classes define."""

from __future__ import annotations

from hudiformat.table.options.answers import hudi_keys
from tests.conformance.hudi import RealHudi
from tests.conformance.option_keys import LATER, OTHER, keys_of


def test_the_list_of_keys_is_that_of_hudis_classes(hudi: RealHudi) -> None:
    assert {name: key for name, key in hudi_keys().items() if key.group not in (OTHER, LATER)} == keys_of(hudi)
