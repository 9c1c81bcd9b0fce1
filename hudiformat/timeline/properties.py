"""``hoodie.properties`` as text: Java's properties format, and the checksum that guards it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timezone

import javaproperties

CHECKSUM_KEY = "hoodie.table.checksum"


def table_checksum(name: str, database: str = "") -> int:
    """The CRC-32 of ``<database>.<name>``.  It guards against files that were cut off, not against changed values.

    Source: HoodieTableConfig.generateChecksum, Hudi 1.2.0.
    """
    return zlib.crc32(f"{database}.{name}".encode())


def parse_properties(text: str | bytes) -> dict[str, str]:
    """The entries of a Java properties text, in its order; the last of several with one key counts.

    Raises:
        ValueError: a Unicode escape that four hexadecimal digits do not follow.

    Source: java.util.Properties.load.
    """
    decoded = text.decode("iso-8859-1") if isinstance(text, bytes) else text
    return dict(javaproperties.loads(decoded))


def format_properties(entries: Mapping[str, str], *, saved_at: datetime) -> bytes:
    """A Java properties text with its keys sorted, under the comment that Hudi writes; the same input, the same bytes.

    *saved_at* counts as UTC when it has no zone.

    Source: java.util.Properties.store, HoodieTableConfig.storeProperties, Hudi 1.2.0.
    """
    utc = saved_at.replace(tzinfo=timezone.utc) if saved_at.tzinfo is None else saved_at.astimezone(timezone.utc)
    comment = f"Properties saved on {utc.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
    text: str = javaproperties.dumps(entries, comments=comment, timestamp=False, sort_keys=True)
    return text.encode("iso-8859-1")
