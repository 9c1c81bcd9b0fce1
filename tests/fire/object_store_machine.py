"""A process whose machine gives it too little: as a program, ``python -m tests.fire.object_store_machine PATH KIND N``.

It writes to a table and reads it; exit 0 where that succeeds, 3 where hudiformat refuses it with an error of its own.
"""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path

from hudiformat import HudiFormatError, open_table
from tests.tables import rows

REFUSED = 3


def main(path: str, kind: str, amount: str) -> int:
    """Do it, with at most *amount* open files more, or with files of at most so many bytes."""
    table = open_table(path, options={"hudiformat.sync": "true"})
    table.snapshot()  # what is imported, and started, is before the limit
    if kind == "open files":
        used = len(list(Path("/proc/self/fd").iterdir()))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + int(amount), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(amount), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        table.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
        table.snapshot()
    except HudiFormatError as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
