"""The types of pyarrow in stubs/ are those of pyarrow."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_stubs_name_nothing_that_pyarrow_lacks(tmp_path: Path) -> None:
    """Options that hand on others (``**options: Any``) are not compared, nor is what is not in the stubs."""
    pytest.importorskip("mypy")
    stubtest = [sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*stubtest, "--ignore-missing-stub", "--concise", "pyarrow"],
        cwd=ROOT,
        env={"MYPY_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = done.stdout.splitlines()
    assert any(line.startswith("pyarrow.") for line in found), done.stdout + done.stderr
    # A buffer has the method from Python 3.12 on; before, C alone knows that it is one.
    lacking = [line for line in found if line.endswith("is not present at runtime") and ".__buffer__ " not in line]
    assert lacking == []
