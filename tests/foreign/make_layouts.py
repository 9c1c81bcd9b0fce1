"""Make the tables without meta fields, and those with keys of structs: ``python -m tests.foreign.make_layouts``.

Each table gets rows in two writes; the second updates one row and adds another.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, pack

_PATH = "hoodie.datasource.write.partitionpath.field"
_NO_META = {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE", _PATH: "p"}
_NESTED = {"hoodie.datasource.write.recordkey.field": "st.k", _PATH: "st.p"}
CASES = {  # name: (version of Hudi, of the table, its type, options)
    "virtual-keys-cow9-h120": ("1.2.0", "9", "COPY_ON_WRITE", _NO_META),
    "virtual-keys-mor9-h120": ("1.2.0", "9", "MERGE_ON_READ", _NO_META),
    "virtual-keys-mor6-h0150": ("0.15.0", "6", "MERGE_ON_READ", _NO_META),
    "nested-keys-mor9-h120": ("1.2.0", "9", "MERGE_ON_READ", _NESTED),
    "nested-keys-cow6-h0150": ("0.15.0", "6", "COPY_ON_WRITE", _NESTED),
}
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("o", pa.int64()),
        ("p", pa.string()),
        ("st", pa.struct([("k", pa.string()), ("p", pa.string())])),
    ]
)


def rows(keys: str, order: int) -> pa.Table:
    """Rows of the keys *keys*; a key is always in the same partition."""
    found = []
    for key in keys:
        p = "xy"[ord(key) % 2]
        found.append({"k": key, "o": order, "p": p, "st": {"k": key, "p": p}})
    return pa.Table.from_pylist(found, SCHEMA)


def main() -> None:
    for name, (hudi_version, version, kind, own) in CASES.items():
        with RealHudi(hudi_version) as hudi, tempfile.TemporaryDirectory() as folder:
            options = {
                **OPTIONS,
                "hoodie.datasource.write.table.type": kind,
                "hoodie.datasource.write.precombine.field": "o",
                "hoodie.datasource.write.operation": "upsert",
                "hoodie.write.table.version": version,
                "hoodie.write.auto.upgrade": "false",
                **own,
            }
            for order, keys in ((1, "abc"), (2, "ad")):
                hudi.write(rows(keys, order), Path(folder, name), options)
            pack(hudi, Path(folder, name), name, {"snapshot": {}})


if __name__ == "__main__":
    main()
