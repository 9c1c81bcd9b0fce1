"""Blocks spelled out field by field."""

from __future__ import annotations

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'

ROLLBACK = bytes.fromhex(
    "23 48 55 44 49 23"  # magic
    "00 00 00 00 00 00 00 3f"  # size: 63 bytes follow
    "00 00 00 01 00 00 00 00"  # version 1, type COMMAND
    "00 00 00 03"  # header: three entries
    "00 00 00 00 00 00 00 03 30 30 32"  # INSTANT_TIME "002"
    "00 00 00 01 00 00 00 03 30 30 31"  # TARGET_INSTANT_TIME "001"
    "00 00 00 03 00 00 00 01 30"  # COMMAND_BLOCK_TYPE "0"
    "00 00 00 00 00 00 00 00"  # content: no bytes
    "00 00 00 00"  # footer: no entries
    "00 00 00 00 00 00 00 45"  # reverse pointer: 63 + 6
)

DELETE = bytes.fromhex(
    "23 48 55 44 49 23"  # magic
    "00 00 00 00 00 00 00 4b"  # size: 75 bytes follow
    "00 00 00 01 00 00 00 01"  # version 1, type DELETE
    "00 00 00 01"  # header: one entry
    "00 00 00 00 00 00 00 03 30 30 31"  # INSTANT_TIME "001"
    "00 00 00 00 00 00 00 20"  # content: 32 bytes
    "00 00 00 03"  # content version 3
    "00 00 00 18"  # list of 24 bytes
    "04"  # two deletes
    "02 04 6b 31 02 02 70 06 80 a0 ab fe f9 62"  # "k1" in "p", LongWrapper 1700000000000
    "02 04 6b 32 02 00 04 00"  # "k2" in "", IntWrapper 0: none
    "00"  # no more
    "00 00 00 00"  # footer: no entries
    "00 00 00 00 00 00 00 51"  # reverse pointer: 75 + 6
)

AVRO = b"".join(
    (
        bytes.fromhex(
            "23 48 55 44 49 23"  # magic
            "00 00 00 00 00 00 00 86"  # size: 134 bytes follow
            "00 00 00 01 00 00 00 03"  # version 1, type AVRO_DATA
            "00 00 00 02"  # header: two entries
            "00 00 00 00 00 00 00 03 30 30 31"  # INSTANT_TIME "001"
            "00 00 00 02 00 00 00 41"  # SCHEMA, 65 bytes
        ),
        SCHEMA.encode(),
        bytes.fromhex(
            "00 00 00 00 00 00 00 12"  # content: 18 bytes
            "00 00 00 03"  # content version 3
            "00 00 00 02"  # two records
            "00 00 00 01 02"  # one byte: 1
            "00 00 00 01 03"  # one byte: -2
            "00 00 00 00"  # footer: no entries
            "00 00 00 00 00 00 00 8c"  # reverse pointer: 134 + 6
        ),
    )
)


def envelope(
    *,
    size: int | None = None,
    version: int = 1,
    kind: int = 0,
    header: bytes = b"\0\0\0\0",
    content_length: int | None = None,
    content: bytes = b"",
    footer: bytes = b"\0\0\0\0",
    pointer: int | None = None,
) -> bytes:
    """The bytes of a block, sound but for the fields that are given."""
    length = len(content) if content_length is None else content_length
    body = version.to_bytes(4, "big", signed=True) + kind.to_bytes(4, "big", signed=True) + header
    body += length.to_bytes(8, "big", signed=True) + content + footer
    size = len(body) + 8 if size is None else size
    pointer = size + 6 if pointer is None else pointer
    return b"#HUDI#" + size.to_bytes(8, "big", signed=True) + body + pointer.to_bytes(8, "big", signed=True)


def entry(key: int, value: bytes, *, length: int | None = None) -> bytes:
    """One header entry."""
    size = len(value) if length is None else length
    return key.to_bytes(4, "big", signed=True) + size.to_bytes(4, "big", signed=True) + value
