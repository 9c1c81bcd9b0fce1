"""Check whether the environment has credentials for an object store, before its client is made.

Without credentials, pyarrow's clients retry for a quarter of an hour, or end the process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

_GOOGLE_FILE = "gcloud/application_default_credentials.json"
_AZURE_PRINCIPALS = (
    ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"),
    ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_CERTIFICATE_PATH"),
    ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"),
)
_AZURE_IDENTITIES = ("IDENTITY_ENDPOINT", "MSI_ENDPOINT")
_SECONDS = 2.0
_SECONDS_OF_AZ = 15.0


def missing_credentials(scheme: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return how to get credentials for URIs of *scheme*, as a message; None if the environment has some.

    Source: https://google.aip.dev/auth/4110; DefaultAzureCredential of Azure's SDK for C++.
    """
    look = _CHECKS.get(scheme)
    return None if look is None else look(environ)


def _missing_for_google(environ: Mapping[str, str]) -> str | None:
    settings = Path(environ.get("CLOUDSDK_CONFIG", "")) if environ.get("CLOUDSDK_CONFIG") else None
    folder = settings.parent if settings else Path(environ.get("APPDATA") or Path.home() / ".config")
    file = settings / "application_default_credentials.json" if settings else folder / _GOOGLE_FILE
    if environ.get("GOOGLE_APPLICATION_CREDENTIALS") or file.exists() or _is_on_google():
        return None
    return (
        "there are no credentials for Google Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS to a file with some, "
        "run gcloud auth application-default login, or give storage_options={'anonymous': 'true'} for a public bucket"
    )


def _missing_for_azure(environ: Mapping[str, str]) -> str | None:
    if any(all(environ.get(name) for name in names) for names in _AZURE_PRINCIPALS):
        return None
    if any(environ.get(name) for name in _AZURE_IDENTITIES) or _is_on_azure() or _az_has_a_token():
        return None
    return (
        "there are no credentials for Azure: give storage_options={'account_key': ...} or {'sas_token': ...}, set "
        "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login"
    )


def _answers(host: str, path: str, asked: Mapping[str, str], *, expected_header: tuple[str, str] | None = None) -> bool:
    """Return whether the metadata server of a cloud answers, which only the cloud's own machines can reach."""
    connection = HTTPConnection(host, timeout=_SECONDS)
    try:
        connection.request("GET", path, headers=dict(asked))
        response = connection.getresponse()
        return response.status == HTTPStatus.OK and (
            expected_header is None or response.headers.get(expected_header[0]) == expected_header[1]
        )
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _is_on_google() -> bool:
    flavor = ("Metadata-Flavor", "Google")
    return _answers("metadata.google.internal", "/computeMetadata/v1/", dict([flavor]), expected_header=flavor)


def _is_on_azure() -> bool:
    return _answers("169.254.169.254", "/metadata/instance?api-version=2021-02-01", {"Metadata": "true"})


def _az_has_a_token() -> bool:
    program = shutil.which("az")
    if program is None:
        return False
    command = [program, "account", "get-access-token", "--resource", "https://storage.azure.com"]
    try:
        return subprocess.run(command, capture_output=True, timeout=_SECONDS_OF_AZ, check=False).returncode == 0  # noqa: S603 - az itself, with constant words
    except (OSError, subprocess.TimeoutExpired):
        return False


_CHECKS: Mapping[str, Callable[[Mapping[str, str]], str | None]] = {
    "gs": _missing_for_google,
    "abfs": _missing_for_azure,
    "abfss": _missing_for_azure,
}
