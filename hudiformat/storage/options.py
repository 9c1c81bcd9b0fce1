"""Make file systems of pyarrow and fsspec from the options of object stores, which are given as a dictionary.

The names of options are those that object-store libraries share, ``aws_access_key_id`` or ``AWS_ACCESS_KEY_ID``, and
pyarrow's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from hudiformat.errors import OptionError, suggest_names

_S3 = {
    "aws_access_key_id": "access_key",
    "aws_secret_access_key": "secret_key",
    "aws_session_token": "session_token",
    "aws_region": "region",
    "aws_default_region": "region",
    "aws_endpoint_url": "endpoint_override",
    "aws_endpoint_url_s3": "endpoint_override",
    "aws_endpoint": "endpoint_override",
    "access_key": "access_key",
    "secret_key": "secret_key",
    "session_token": "session_token",
    "region": "region",
    "endpoint_override": "endpoint_override",
    "anonymous": "anonymous",
    "role_arn": "role_arn",
    "scheme": "scheme",
}
_GS = {
    "google_access_token": "access_token",
    "access_token": "access_token",
    "anonymous": "anonymous",
    "project_id": "project_id",
    "endpoint_override": "endpoint_override",
    "scheme": "scheme",
}
_AZURE = {
    "azure_storage_account_name": "account_name",
    "azure_storage_account_key": "account_key",
    "azure_storage_sas_token": "sas_token",
    "account_name": "account_name",
    "account_key": "account_key",
    "sas_token": "sas_token",
}
_MAKERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "s3": ("S3FileSystem", _S3),
    "gs": ("GcsFileSystem", _GS),
    "abfs": ("AzureFileSystem", _AZURE),
    "abfss": ("AzureFileSystem", _AZURE),
}
_FLAGS = ("anonymous",)


def make_filesystem(scheme: str, options: Mapping[str, str]) -> fs.FileSystem | None:
    """Return pyarrow's file system for URIs of *scheme*, with *options*; None if pyarrow has none for the scheme.

    Raises:
        OptionError: the file system does not have an option; the closest one is named.
    """
    found = _MAKERS.get(scheme)
    if found is None or not hasattr(fs, found[0]):
        return None
    make: Callable[..., fs.FileSystem] = getattr(fs, found[0])
    return make(**_arguments(scheme, options, found[1]))


def _arguments(scheme: str, options: Mapping[str, str], known: Mapping[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for option, value in options.items():
        name = known.get(option.lower())
        if name is None:
            hint = suggest_names(option.lower(), known) or f"; known are {', '.join(known)}"
            raise OptionError(
                f"storage_options: unknown option {option!r} of {scheme}://{hint}", option=option, is_unknown=True
            )
        arguments[name] = str(value).lower() == "true" if name in _FLAGS else value
    endpoint = urlsplit(arguments.get("endpoint_override", ""))
    if endpoint.scheme in ("http", "https") and endpoint.netloc:  # pyarrow wants the scheme by itself
        arguments |= {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme}
    return arguments
