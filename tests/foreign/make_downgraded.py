"""Make the table that Hudi has downgraded to version 6: ``python -m tests.foreign.make_downgraded``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack
from tests.sound_tables.maker import Maker

NAME = "downgraded-cow6-h120"
CHOSEN = {
    **OPTIONS,
    **UNPARTITIONED,
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "k",
    "hoodie.datasource.write.partitionpath.field": "",
}


def main() -> None:
    with RealHudi() as hudi, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, NAME)
        maker = Maker(hudi, path, "downgraded", CHOSEN)
        maker.write("upsert", range(3))
        maker.write("upsert", range(2))
        maker.call("downgrade_table", to_version="SIX")
        maker.forget()
        pack(hudi, path, NAME, {"snapshot": {}})


if __name__ == "__main__":
    main()
