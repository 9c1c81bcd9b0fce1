"""Log files, sound and damaged in every way, out of a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import MAGIC, BlockHeader, BlockType, HeaderKey

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'


@dataclass(frozen=True, slots=True)
class LogFile:
    """The bytes of a file, what was done to it, and the blocks that went into it, whole as they were then."""

    data: bytes
    damage: tuple[str, ...]
    blocks: tuple[bytes, ...]


def log_files(seed: int, count: int) -> list[LogFile]:
    """*count* files; every tenth is sound."""
    chance = random.Random(seed)
    return [_sound(chance) if number % 10 == 0 else _mutant(chance) for number in range(count)]


def _sound(chance: random.Random) -> LogFile:
    blocks = tuple(encode_block(_block(chance)) for _ in range(chance.randint(0, 6)))
    return LogFile(b"".join(blocks), (), blocks)


def _mutant(chance: random.Random) -> LogFile:
    file = _sound(chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        name = chance.choice(list(DAMAGE))
        file = DAMAGE[name](chance, file)
    return file


def _block(chance: random.Random) -> LogBlock:
    instant = f"2026{chance.randrange(10**13):013d}"
    kind = chance.randrange(6)
    if kind == 0:
        numbers = [chance.randrange(1000) for _ in range(chance.randint(0, 8))]
        return data_block(pa.record_batch({"a": pa.array(numbers, pa.int32())}), instant=instant)
    if kind == 1:
        keys = [f"k{chance.randrange(100)}" for _ in range(chance.randint(0, 4))]
        return delete_block(keys, instant=instant, partition_path="p")
    if kind == 2:
        return rollback_block(instant=instant, target=f"2025{chance.randrange(10**13):013d}")
    header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: SCHEMA}
    if chance.random() < 0.2:
        header[HeaderKey.BLOCK_IDENTIFIER] = chance.choice(("", "ü€", "0,1", "x" * 300))
    types = (BlockType.AVRO_DATA, BlockType.HFILE_DATA, BlockType.PARQUET_DATA, BlockType.CDC_DATA)
    return LogBlock(chance.choice(types), BlockHeader(header), _content(chance))


def _content(chance: random.Random) -> bytes:
    content = chance.randbytes(chance.choice((0, 1, 7, 40, 200)))
    if chance.random() < 0.3:
        inner = chance.choice((MAGIC, MAGIC + MAGIC, encode_block(rollback_block(instant="1", target="0")), bytes(20)))
        at = chance.randint(0, len(content))
        content = content[:at] + inner + content[at:]
    return content


# Damage


def _changed(file: LogFile, data: bytes, damage: str) -> LogFile:
    return LogFile(data, (*file.damage, damage), file.blocks)


def _start(chance: random.Random, file: LogFile) -> int:
    """Where a block begins, or near the start of a file without one."""
    starts = [0, *accumulate(map(len, file.blocks))][: max(len(file.blocks), 1)]
    return min(chance.choice(starts), len(file.data))


def _span(chance: random.Random, file: LogFile) -> tuple[int, int]:
    start = chance.randint(0, len(file.data)) if chance.random() < 0.5 else _start(chance, file)
    return start, min(len(file.data), start + chance.choice((1, 2, 5, 6, 14, 100)))


def _flip_anywhere(chance: random.Random, file: LogFile) -> LogFile:
    return _flip(chance, file, chance.randint(0, len(file.data)), "flip anywhere")


def _flip_in_envelope(chance: random.Random, file: LogFile) -> LogFile:
    near = chance.randint(0, 40) if chance.random() < 0.7 else -chance.randint(1, 12)
    return _flip(chance, file, _start(chance, file) + near, "flip in the envelope")


def _flip(chance: random.Random, file: LogFile, at: int, damage: str) -> LogFile:
    if not file.data:
        return file
    data = bytearray(file.data)
    data[at % len(data)] ^= 1 << chance.randrange(8)
    return _changed(file, bytes(data), damage)


def _cut(chance: random.Random, file: LogFile) -> LogFile:
    return _changed(file, file.data[: chance.randint(0, len(file.data))], "cut")


def _insert(chance: random.Random, file: LogFile) -> LogFile:
    at, _ = _span(chance, file)
    junk = chance.choice((chance.randbytes(chance.randint(1, 20)), MAGIC, MAGIC[:5], bytes(chance.randint(1, 40))))
    return _changed(file, file.data[:at] + junk + file.data[at:], "insertion")


def _delete(chance: random.Random, file: LogFile) -> LogFile:
    start, end = _span(chance, file)
    return _changed(file, file.data[:start] + file.data[end:], "deletion")


def _duplicate(chance: random.Random, file: LogFile) -> LogFile:
    start = _start(chance, file)
    end = chance.choice((start + 6, start + 14, chance.randint(start, len(file.data)), len(file.data)))
    return _changed(file, file.data[:end] + file.data[start:], "duplication")


def _splice(chance: random.Random, file: LogFile) -> LogFile:
    other = _sound(chance)
    head = chance.choice((_start(chance, file), chance.randint(0, len(file.data))))
    tail = chance.choice((_start(chance, other), chance.randint(0, len(other.data))))
    spliced = LogFile(file.data[:head] + other.data[tail:], file.damage, file.blocks + other.blocks)
    return _changed(spliced, spliced.data, "splice")


def _zero_tail(chance: random.Random, file: LogFile) -> LogFile:
    kept = chance.choice((len(file.data), chance.randint(0, len(file.data))))
    return _changed(file, file.data[:kept] + bytes(chance.choice((1, 5, 6, 7, 64, 4096))), "zero tail")


def _double_magic(chance: random.Random, file: LogFile) -> LogFile:
    start = _start(chance, file)
    return _changed(file, file.data[:start] + MAGIC * chance.randint(1, 3) + file.data[start:], "doubled magic")


def _lie(chance: random.Random, file: LogFile) -> LogFile:
    """A field of a block's head that says something else, and some that lie in the way Java swallows."""
    start = _start(chance, file)
    head = file.data[start:]
    if len(head) < 46:
        return file
    fields = {"size": (6, 8), "version": (14, 4), "type": (18, 4), "header count": (22, 4), "key": (26, 4),
              "value length": (30, 4)}  # fmt: skip
    if (at := _content_length_at(head)) is not None:
        fields["content length"] = (at, 8)
        length = int.from_bytes(head[at : at + 8], "big", signed=True)
        if 0 <= length <= len(head) - at - 20:
            fields["footer count"] = (at + 8 + length, 4)
            fields["reverse pointer"] = (at + 12 + length, 8)
    name = chance.choice([*fields, *(["content length"] if "content length" in fields else [])])
    at, width = fields[name]
    value = int.from_bytes(head[at : at + width], "big", signed=True)
    lie = _lies(chance, value, width, len(head), at) % 2 ** (8 * width)
    data = file.data[: start + at] + lie.to_bytes(width, "big") + file.data[start + at + width :]
    return _changed(file, data, f"lying {name}")


def _swallow(chance: random.Random, file: LogFile) -> LogFile:
    """A content length that reaches over blocks behind, or back to where a block begins."""
    starts = [0, *accumulate(map(len, file.blocks))]
    if len(starts) < 3:
        return file
    number = chance.randrange(len(starts) - 2)
    start, other = starts[number], chance.choice(starts[number + 2 :])
    if chance.random() < 0.3:
        start, other = starts[number + 1], chance.choice(starts[1 : number + 2])
    head = file.data[start:]
    if len(head) < 46 or (at := _content_length_at(head)) is None:
        return file
    length = other - 12 - (start + at + 8)  # where Hudi takes the bytes before for a footer and a reverse pointer
    data = file.data[: start + at] + length.to_bytes(8, "big", signed=True) + file.data[start + at + 8 :]
    return _changed(file, data, "content length to another block")


def _lies(chance: random.Random, value: int, width: int, room: int, at: int) -> int:
    near = (value + 1, value - 1, value + 6, value - 6, 0, -1, -at - 8, -at - 14, room - at, room - at - 8 - 12)
    far = (2**31 - 1, -(2**31), chance.randrange(2**31), value + chance.randrange(1, room), value * 2)
    wrap = (value + 2**32, value - 2**32, value + 2**32 * chance.randrange(2**31), 2**40, 2**63 - 1)
    return chance.choice(near + far + (wrap if width == 8 else ()))


def _content_length_at(head: bytes) -> int | None:
    """Where the content length of a block stands that was sound before; None where the header makes no sense."""
    at = 26
    for _ in range(min(int.from_bytes(head[22:26], "big"), 9)):
        at += 8 + int.from_bytes(head[at + 4 : at + 8], "big")
    return at if at + 8 <= len(head) else None


Damage = Callable[[random.Random, LogFile], LogFile]
DAMAGE: dict[str, Damage] = {
    "flip anywhere": _flip_anywhere,
    "flip in the envelope": _flip_in_envelope,
    "cut": _cut,
    "insertion": _insert,
    "deletion": _delete,
    "duplication": _duplicate,
    "splice": _splice,
    "zero tail": _zero_tail,
    "doubled magic": _double_magic,
    "lie": _lie,
    "another lie": _lie,
    "swallow": _swallow,
}
