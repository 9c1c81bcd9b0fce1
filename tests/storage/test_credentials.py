"""Without credentials a client is not made: it would hang, or end the process."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hudiformat import StorageError, open_table
from hudiformat.storage import credentials
from hudiformat.storage.credentials import missing_credentials

PRINCIPAL = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without credentials, on no cloud's machine; its folder of programs."""
    for name in (*PRINCIPAL, "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "IDENTITY_ENDPOINT", "MSI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(credentials, "_is_on_google", lambda: False)
    monkeypatch.setattr(credentials, "_is_on_azure", lambda: False)
    return tmp_path


@pytest.mark.parametrize(
    ("uri", "shown", "way_out"),
    [
        ("gs://bucket/table", "gs://bucket/table", "set GOOGLE_APPLICATION_CREDENTIALS"),
        ("gcs://bucket/table", "gcs://bucket/table", "set GOOGLE_APPLICATION_CREDENTIALS"),
        ("abfss://c@account.dfs.core.windows.net/t", "abfss://c@account.dfs.core.windows.net/t", "run az login"),
        ("abfs://c@account.dfs.core.windows.net/t", "abfs://c@account.dfs.core.windows.net/t", "run az login"),
    ],
)
@pytest.mark.usefixtures("bare")
def test_a_uri_without_credentials_is_refused_at_once(uri: str, shown: str, way_out: str) -> None:
    with pytest.raises(StorageError, match=f"^cannot open {shown}: there are no credentials for .*{way_out}") as caught:
        open_table(uri)
    assert caught.value.path == shown


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("scheme", ["s3", "hdfs", "memory"])
def test_other_clients_look_for_themselves(scheme: str) -> None:
    assert missing_credentials(scheme, {}) is None


@pytest.mark.parametrize(
    ("scheme", "environ"),
    [
        ("gs", {"GOOGLE_APPLICATION_CREDENTIALS": "/file"}),
        ("abfss", PRINCIPAL),
        ("abfs", {"IDENTITY_ENDPOINT": "http://localhost"}),
    ],
)
@pytest.mark.usefixtures("bare")
def test_an_environment_with_credentials(scheme: str, environ: dict[str, str]) -> None:
    assert missing_credentials(scheme, environ) is None


def test_a_file_that_gcloud_has_left(bare: Path) -> None:
    for folder in (bare / ".config" / "gcloud", bare / "chosen"):
        folder.mkdir(parents=True)
    environ = {"CLOUDSDK_CONFIG": str(bare / "chosen")}
    assert missing_credentials("gs", environ) is not None
    (bare / "chosen" / "application_default_credentials.json").touch()
    assert missing_credentials("gs", environ) is None
    assert missing_credentials("gs", {}) is not None
    (bare / ".config" / "gcloud" / "application_default_credentials.json").touch()
    assert missing_credentials("gs", {}) is None


@pytest.mark.parametrize(("script", "has"), [("exit 0", True), ("exit 1", False), (None, False)])
def test_the_program_of_azure_is_asked(bare: Path, script: str | None, has: bool) -> None:
    if script is not None:
        program = bare / "az"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert (missing_credentials("abfss", {}) is None) == has


class Metadata(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/there" else 404)
        self.send_header("Flavor", "Mine")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def server() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Metadata)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_metadata_server_is_one_that_answers_as_one(server: str) -> None:
    assert credentials._answers(server, "/there", {})
    assert credentials._answers(server, "/there", {}, expected_header=("Flavor", "Mine"))
    assert not credentials._answers(server, "/there", {}, expected_header=("Flavor", "Other"))
    assert not credentials._answers(server, "/elsewhere", {})
    assert not credentials._answers("127.0.0.1:1", "/there", {})
