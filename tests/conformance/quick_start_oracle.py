"""Real Hudi's answers to the quick start, for ``tests/quick_start.json``.

``HUDIFORMAT_LONG=1 python -m tests.conformance.quick_start_oracle`` asks for all of them anew, and writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conformance.hudi import RealHudi
from tests.quick_start import ANSWERS, KINDS, name_of, run


def main() -> None:
    """Write ``tests/quick_start.json``."""
    with RealHudi() as hudi, TemporaryDirectory() as folder:
        found = {
            name_of(table_type, has_key=has_key): run(
                hudi.eval_, "hudi", Path(folder, name_of(table_type, has_key=has_key)), table_type, has_key=has_key
            )
            for table_type, has_key in KINDS
        }
    lines = [
        f" {json.dumps(kind)}: [\n" + ",\n".join(f"  {json.dumps(one)}" for one in answers) + "\n ]"
        for kind, answers in found.items()
    ]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
