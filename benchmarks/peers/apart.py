"""Run a library in an environment of its own, as it works with no newest pyarrow.

``python -m benchmarks.peers.apart FEATURE ...`` is run there, and prints what came of each feature as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.features import FEATURES
from benchmarks.peers.running import Outcome, outcome
from tools.package import ROOT, environment, install

PACKAGES = ("pypaimon[datafusion]>=2.1", "duckdb")
NAME, PACKAGE = "pypaimon", "pypaimon"


@contextmanager
def paimon_environment() -> Iterator[Path]:
    """Make the environment, and yield its Python."""
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(Path(sys.executable), Path(scratch, "environment"))
        install(python, *PACKAGES)
        yield python


def outcomes_apart(python: Path, names: Sequence[str]) -> tuple[str, dict[str, Outcome | None]]:
    """Return the version of the library, and what came of the features *names*, run by *python*."""
    command = [str(python), "-W", "ignore", "-m", "benchmarks.peers.apart", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: Mapping[str, Mapping[str, object] | None] = json.loads(done.stdout.splitlines()[-1])
    text = str((found.pop("version") or {}).get("of", ""))  # type: ignore[attr-defined]  # a dict of json
    return text, {name: None if what is None else Outcome(**what) for name, what in found.items()}  # type: ignore[arg-type]  # as main writes them


def main(names: Sequence[str]) -> int:
    """Run the features *names* here, and print their outcomes."""
    from benchmarks.peers.paimon import Paimon

    found: dict[str, object] = {"version": {"of": version(PACKAGE)}}
    for feature in FEATURES:
        if feature.name in names:
            what = outcome(Paimon, feature)
            found[feature.name] = None if what is None else asdict(what)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
