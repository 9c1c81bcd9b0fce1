"""Damage of every kind, to any bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

import hudiformat as hf
from hudiformat import testing
from hudiformat.codec.log.frame import MAGIC
from hudiformat.testing import damage
from tests.effort import sample
from tests.testing.support import SLOW, reaches

DATA = hf.encode_block(hf.rollback_block(instant="002", target="001")) * 3
BLOCK = DATA[: len(DATA) // 3]


@SLOW
@given(data=testing.damaged_log_files(most=1))
def test_damaged_files_are_bytes_that_can_be_read(data: bytes) -> None:
    assert sum(block.size or 0 for block in hf.LogReader(data)) > len(data) - len(MAGIC)


@pytest.mark.parametrize(
    "condition",
    sample(
        [
            pytest.param(lambda data: DATA.startswith(data) and len(data) < len(DATA), id="a cut"),
            pytest.param(lambda data: len(data) == len(DATA) and sum(map(int.__ne__, data, DATA)) == 1, id="a flip"),
            pytest.param(lambda data: data.startswith(DATA) and not any(data[len(DATA) :]), id="zeros at the end"),
            pytest.param(lambda data: MAGIC * 2 in data, id="a magic twice"),
            pytest.param(lambda data: data.endswith(DATA) and len(data) > len(DATA), id="junk in front"),
            pytest.param(
                lambda data: data != DATA and data in (DATA + DATA[:77], DATA[:77]), id="blocks repeated or lost"
            ),
            pytest.param(
                lambda data: data[14:] == BLOCK[14:] and data[:6] == BLOCK[:6] and data[:10] != BLOCK[:10],
                id="a wrong size",
            ),
        ],
        of=3,
    ),
)
def test_damage_is_of_every_kind(condition: Callable[[bytes], bool]) -> None:
    assert reaches(testing.damaged(DATA, most=1) | testing.damaged(BLOCK, most=1), condition)


@pytest.mark.parametrize("data", [b"", b"no block", MAGIC + bytes(50), DATA[:50], b"#HUDI#" + b"\x7f" * 60])
def test_any_bytes_can_be_damaged(data: bytes) -> None:
    @SLOW
    @given(found=testing.damaged(data))
    def bytes_come_out(found: bytes) -> None:
        assert isinstance(found, bytes)

    bytes_come_out()


@pytest.mark.parametrize("wrong", [-1, 0, 2, 9, 62, 64, 63 + 2**32, 2**31 - 1, 2**63 - 1, 166, 77])
def test_wrong_numbers_of_every_kind(wrong: int) -> None:
    """77 leads from the first of three blocks of 77 bytes over the second: the content begins 89 before the third."""
    assert reaches(damage._wrong_values(63, 8, 166, [12, 89]), lambda found: found == wrong)


def test_the_offsets_of_the_numbers_of_an_envelope() -> None:
    block = DATA[:77]
    assert damage._numbers(block)[-3:] == [(57, 8), (65, 4), (69, 8)]
    assert damage._numbers(block[:60])[-1] == (30, 4)
    assert damage._numbers(block[:57] + b"\x7f" + block[58:])[-1] == (57, 8)
