"""What the command ``hudiformat`` and ``python -m hudiformat`` start."""

from __future__ import annotations

import sys

_EXTRA = ("click", "rich")


def main() -> int:
    """Run the command line, and give back its exit code; 2 with what to install when the extra ``cli`` is not there."""
    try:
        from hudiformat.cli.app import run  # noqa: PLC0415 - what it needs is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        sys.stderr.write(f"hudiformat: the command line needs {error.name}: pip install 'hudiformat[cli]'\n")
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
