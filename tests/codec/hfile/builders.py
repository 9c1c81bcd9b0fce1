"""HFile blocks spelled out, whole and damaged."""

from __future__ import annotations

import struct


def block(
    content: bytes,
    *,
    kind: bytes = b"METABLKc",
    unpacked: int | None = None,
    rest: int | None = None,
    checksum: int = 0,
    chunk: int = 16384,
    end: int | None = None,
    sums: bytes = b"",
) -> bytes:
    """The bytes of an HFile block; what is not given is what a writer would write."""
    size = len(content) if unpacked is None else unpacked
    length = len(content) + len(sums) if rest is None else rest
    last = 33 + len(content) if end is None else end
    return struct.pack(">8siiqBii", kind, length, size, -1, checksum, chunk, last) + content + sums
