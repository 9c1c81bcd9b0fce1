"""The command as a module, as an entry point, and without what it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import DAMAGED, ROOT, start


def test_the_entry_point_is_the_command() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '[project.scripts]\nhudiformat = "hudiformat.__main__:main"\n' in text


@pytest.mark.parametrize("name", ["click", "rich"])
def test_without_the_extra_the_error_names_what_to_install(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; from hudiformat.__main__ import main; sys.exit(main())"
    process = start("--version", code=code)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("hudiformat: the command line needs ")
    assert err.endswith(": pip install 'hudiformat[cli]'\n")
    assert err.count("\n") == 1


def test_another_missing_module_is_an_import_error() -> None:
    code = (
        "import sys; sys.modules['hudiformat.cli.app'] = None; from hudiformat.__main__ import main; sys.exit(main())"
    )
    process = start("--version", code=code)
    assert "import of hudiformat.cli.app halted" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


@pytest.mark.slow
def test_the_module_is_the_command(tmp_path: Path) -> None:
    log = tmp_path / ".0a1b-0_20260101000000000.log.1_0-0-0"
    log.write_bytes(DAMAGED)
    process = start("blocks", "--json", log)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["AVRO_DATA", "CORRUPT", "AVRO_DATA"]
