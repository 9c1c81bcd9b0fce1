"""Hudi's own HFile classes, through the JVM of real Hudi."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.codec.hfile.files import Entry
from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass

_CODE = """
from base64 import b64decode, b64encode

hudi_io = jvm.org.apache.hudi.io


def hfile_write(entries, codec, block_size, file_info, meta_blocks, creation_time):
    out = jvm.java.io.ByteArrayOutputStream()
    codec = jvm.org.apache.hudi.io.compress.CompressionCodec.valueOf(codec)
    context = hudi_io.hfile.HFileContext.builder().blockSize(block_size).compressionCodec(codec)
    writer = hudi_io.hfile.HFileWriterImpl(context.fileCreationTime(creation_time).build(), out)
    for name, value in file_info:
        writer.appendFileInfo(name, b64decode(value))
    for name, value in meta_blocks:
        writer.appendMetaInfo(name, b64decode(value))
    if entries:
        java_call(java_HFiles["append"], [writer, entries])
    writer.close()
    return b64encode(out.toByteArray()).decode()


def hfile_open(data):
    data = b64decode(data)
    stream = hudi_io.ByteArraySeekableDataInputStream(hudi_io.ByteBufferBackedInputStream(data))
    reader = hudi_io.hfile.HFileReaderImpl(stream, len(data))
    reader.initializeMetadata()
    return reader


def hfile_extras(reader, names, blocks):
    infos = [reader.getMetaInfo(hudi_io.hfile.UTF8StringKey(name)) for name in names]
    metas = [reader.getMetaBlock(name) for name in blocks]
    copies = [hudi_io.util.IOUtils.toBytes(meta.get().slice()) if meta.isPresent() else None for meta in metas]
    return [
        reader.getNumKeyValueEntries(),
        [b64encode(info.get()).decode() if info.isPresent() else None for info in infos],
        [None if copy is None else b64encode(copy).decode() for copy in copies],
    ]
"""


class JavaHFiles:
    """Writes and reads HFiles with Hudi's classes; keys and values that are read back have to be text."""

    def __init__(self, hudi: RealHudi) -> None:
        self._hudi = hudi
        JavaClass(hudi, "HFiles", Path(__file__).with_name("hfiles.java"))
        hudi.eval_(_CODE)

    def write(
        self,
        entries: Sequence[Entry],
        *,
        codec: str,
        block_size: int = 1024 * 1024,
        file_info: Mapping[str, bytes] | None = None,
        meta_blocks: Mapping[str, bytes] | None = None,
        creation_time: int = 0,
    ) -> bytes:
        """What HFileWriterImpl makes of *entries*."""
        named = [[(name, _text(value)) for name, value in (pairs or {}).items()] for pairs in (file_info, meta_blocks)]
        rows = "\n".join(f"{_text(key)} {_text(value)}" for key, value in entries)
        arguments = (rows, codec.upper(), block_size, *named, creation_time)
        return base64.b64decode(self._call("hfile_write(*{!r})", arguments))

    def entries(self, data: bytes) -> list[Entry]:
        """What HFileReaderImpl finds from first to last."""
        found = self._call("java_call(java_HFiles['entries'], [hfile_open({!r})])", _text(data))
        pairs = (line.split(" ") for line in found.splitlines())
        return [(base64.b64decode(key), base64.b64decode(value)) for key, value in pairs]

    def seek(self, data: bytes, keys: Sequence[str]) -> list[tuple[int, str | None]]:
        """What seekTo says of each of *keys*, which are in order, and the value where that is 0."""
        sought = "\n".join(_text(key.encode()) for key in keys)
        found = self._call("java_call(java_HFiles['seek'], [hfile_open({!r}), {!r}])", _text(data), sought)
        answers = (line.split(" ") for line in found.splitlines())
        return [(int(code), base64.b64decode(value).decode() if code == "0" else None) for code, value in answers]

    def extras(
        self, data: bytes, names: Sequence[str], blocks: Sequence[str]
    ) -> tuple[int, list[bytes | None], list[bytes | None]]:
        """The number of entries, file info by name, and meta blocks by name."""
        count, *found = self._call("hfile_extras(hfile_open({!r}), {!r}, {!r})", _text(data), names, blocks)
        infos, metas = ([None if value is None else base64.b64decode(value) for value in values] for values in found)
        return count, infos, metas

    def _call(self, template: str, *arguments: Any) -> Any:
        return self._hudi.eval_("result = " + template.format(*arguments))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
