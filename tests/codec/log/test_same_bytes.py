"""The bytes of blocks do not change from one version of hudiformat to the next: hashes of blocks of many shapes.

The rows are those of the benchmarks, more than are encoded at a time, and blocks of five rows.
"""

from __future__ import annotations

import hashlib

import pytest

import hudiformat as hf
from benchmarks import ours
from benchmarks.cases import DATA_CASES, INSTANT, SMALL

_ROWS = 17_000
_WIDE_ROWS = 2_000
_FEW = 5
_HASHES = {
    "mixed": "4892ae039c3d84bd861f90098e1cee858373d4639094663f7efb0020f185e27a",
    "narrow": "a35c11b1fb94b24c3386016b6e990e4893c850be0d196aae8b466c15e7bd4237",
    "wide": "0e4cb499236b36438044013f9ff2316dd04a2e391843890fecf958d57455307f",
    "strings": "4f49a2a82d5c9cb732c0950b527d6ca986e0ce55d616a64c7852a6cc8f301cc1",
    "nested": "d29a2c3084b4ff71baa9d2d28f3b45cd61dbae0054e1e24aa8e22c5561bb0959",
    "nullable": "7f70d7d20f1fa6d0926bf7d7615a9b2c0fc338a810be0471b68c64400647f524",
    "small": "c5aad2f921b218a18be4a0b30b165161827464d52091c0abe21c54a1fafc0a1a",
}
_HASHES_OF_FEW = {
    "mixed": "96f0378acc6def8625d1de38312bd023e41e7f2e1a54a638301f4cf20d3e42cf",
    "narrow": "f79efa68a157fc3fdc7f8cc49785fa2bd7f539e56d25ef6b6f5ac7620badcc2b",
    "wide": "cf1b1505534dc140b04bebc636d35f622ea95c95450760976aa13f2fac78dca3",
    "strings": "54abf66923c2e1853dee7bcaa9e98baaedd36ad5b180d5706850997db4329580",
    "nested": "71c7634c2924057e62919631fecf416dc575e4f9c9772402db2400cc08cebaac",
    "nullable": "11aff440f498d26c2c3543deb3a0b2f5220b247fef85c9330e7c6fba88218878",
    "small": "b8073a1c3d5127943a8ea2cdf4559b7c144d77dba559e3df0aafb316fc39be9b",
}
_CASES = {case.name: case for case in (*DATA_CASES, SMALL) if case.format == "avro"}


def _rows(name: str) -> ours.Rows:
    return ours.prepare(_CASES[name], _WIDE_ROWS if name == "wide" else _ROWS)


@pytest.mark.parametrize("name", _HASHES)
def test_a_large_block_has_the_bytes_that_it_always_had(name: str) -> None:
    rows = _rows(name)
    block = hf.data_block(rows.table, instant=INSTANT, schema=rows.schema)
    assert hashlib.sha256(hf.encode_block(block)).hexdigest() == _HASHES[name]


@pytest.mark.parametrize("name", _HASHES_OF_FEW)
def test_small_blocks_have_the_bytes_that_they_always_had(name: str) -> None:
    rows = _rows(name)
    digest = hashlib.sha256()
    for start in range(0, 10 * _FEW, _FEW):
        block = hf.data_block(rows.table.slice(start, _FEW), instant=INSTANT, schema=rows.schema)
        digest.update(hf.encode_block(block))
    assert digest.hexdigest() == _HASHES_OF_FEW[name]
