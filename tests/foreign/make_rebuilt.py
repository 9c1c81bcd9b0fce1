"""Make tables whose metadata table has a partition that Hudi has built again.

Run it as ``python -m tests.foreign.make_rebuilt``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack
from tests.sound_tables.maker import Maker

CHOSEN = {
    **OPTIONS,
    **UNPARTITIONED,
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "k",
    "hoodie.datasource.write.partitionpath.field": "",
}


def downgrade(maker: Maker) -> None:
    """Hudi merges the metadata table, drops ``column_stats``, and builds it again as of the newest write."""
    maker.upsert()
    maker.call("downgrade_table", to_version="SIX")


def restore(maker: Maker) -> None:
    """Hudi drops ``partition_stats``, and builds it again."""
    maker.savepoint()
    maker.upsert()
    maker.restore()
    maker.upsert()


TABLES: dict[str, tuple[str, str, Callable[[Maker], None]]] = {
    "rebuilt-cow6-h120": ("COPY_ON_WRITE", "", downgrade),
    "rebuilt-mor9-h120": ("MERGE_ON_READ", "p", restore),
}


def main() -> None:
    with RealHudi() as hudi, tempfile.TemporaryDirectory() as folder:
        for name, (kind, by, change) in TABLES.items():
            options = CHOSEN | {"hoodie.datasource.write.table.type": kind}
            if by:
                options = {key: one for key, one in options.items() if key not in UNPARTITIONED}
                options["hoodie.datasource.write.partitionpath.field"] = by
            maker = Maker(hudi, Path(folder, name), name.replace("-", "_"), options)
            maker.write("upsert", range(3))
            change(maker)
            maker.forget()
            pack(hudi, maker.path, name, {"snapshot": {}})


if __name__ == "__main__":
    main()
