"""Hypothesis is only needed for the strategies."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_hypothesis_the_error_names_what_to_install() -> None:
    done = run("import sys; sys.modules['hypothesis'] = None; import hudiformat; import hudiformat.testing")
    assert done.stderr.splitlines()[-1] == (
        "ImportError: hudiformat.testing needs Hypothesis: pip install 'hudiformat[testing]'"
    )


def test_the_package_does_not_import_it() -> None:
    done = run(
        "import sys, hudiformat; print([name for name in sys.modules if 'hypothesis' in name or name.endswith('ing')"
        " and name == 'hudiformat.testing'])"
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
