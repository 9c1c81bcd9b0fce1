"""``hudiformat store check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudiformat.cli.app import run
from hudiformat.errors import StorageError
from hudiformat.storage.checks import STORE_CHECKS
from hudiformat.storage.local import LocalStorage


def test_a_local_folder_can_do_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "check", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("works") == len(STORE_CHECKS)
    assert "atomic_create, append, sync" in printed
    assert list(tmp_path.iterdir()) == []


def test_a_storage_that_loses_files_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = LocalStorage.list
    monkeypatch.setattr(LocalStorage, "list", lambda self, path: [one for one in whole(self, path) if not one.is_dir])
    assert run(["store", "check", "--json", str(tmp_path)]) == 1
    *found, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    wrong = {one["check"] for one in found if one["outcome"] == "wrong"}
    assert "a listing has folders of which only deeper files tell" in wrong
    assert last["wrong"] == len(wrong)
    assert last["capabilities"]["atomic_create"] is True


def test_what_a_storage_lacks_and_does_not_promise_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "check", "memory://checked"]) == 0
    printed = capsys.readouterr().out
    assert "lacks" in printed
    assert "of several writers one creates a file: several writers can create one file" in printed
    assert printed.endswith("memory://checked: whole files\n")


def test_any_error_of_a_storage_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> bytes:
        raise RuntimeError("out of order")

    monkeypatch.setattr(LocalStorage, "map", fail)
    assert run(["store", "check", str(tmp_path)]) == 1
    assert "a file is mapped: RuntimeError: out of order" in capsys.readouterr().out


def test_a_check_raises_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> bytes:
        raise StorageError("no disk")

    monkeypatch.setattr(LocalStorage, "read", fail)
    with pytest.raises(Exception, match="a new file has its content: no disk"):
        STORE_CHECKS[0](LocalStorage(tmp_path))
