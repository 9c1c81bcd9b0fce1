"""Log files for the tests of this folder, and the result of a command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import hudiformat
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import data_block, delete_block
from hudiformat.codec.log.build import rollback_block as rollback
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey

ROOT = Path(hudiformat.__file__).parents[1]
ROWS = pa.record_batch({"id": ["a", "b", "c"], "n": pa.array([1, None, 3], pa.int32())})
WIDER = pa.record_batch({"id": ["d"], "price": pa.array([2.5])})
DATA = encode_block(data_block(ROWS, instant="20260101000000001"))
DELETES = encode_block(delete_block(["a", "b"], instant="20260101000000002", partition_path="p"))
ROLLBACK = encode_block(rollback(instant="20260101000000003", target="20260101000000001"))
EVOLVED = encode_block(data_block(WIDER, instant="20260101000000004"))
JUNK = b"\xa5" * 37
SOUND = DATA + DELETES + ROLLBACK + EVOLVED
DAMAGED = DATA + DELETES[:80] + EVOLVED
HIDDEN = DATA + ROLLBACK + JUNK + DELETES[:-5]
UNDECODABLE = encode_block(
    LogBlock(
        BlockType.AVRO_DATA, BlockHeader({HeaderKey.INSTANT_TIME: "5", HeaderKey.SCHEMA: "{"}), b"\0\0\0\3\0\0\0\0"
    )
)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> list[dict[str, Any]]:
        return [json.loads(line, parse_constant=_refuse) for line in self.lines]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


Command = Callable[..., Result]


def start(*arguments: object, code: str = "") -> subprocess.Popen[str]:
    """The command, or the Python program *code*, with these arguments in a process of its own."""
    program = ["-c", code] if code else ["-m", "hudiformat"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
