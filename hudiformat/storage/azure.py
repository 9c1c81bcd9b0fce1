"""What pyarrow's Azure file system is not asked for: settings that end the process, and puts of whole blobs.

pyarrow creates each file as an empty blob first, which others can see.  Azure's own client puts a blob in one request,
also on the condition that there is none.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hudiformat.errors import StorageError

_OWNER = "hudiformat_owner"  # names of metadata are identifiers there


def check_azure(settings: Mapping[str, str], root: str) -> None:
    """Refuse settings with which Azure's client in pyarrow throws an error that nothing catches, and the process ends.

    *settings* are arguments of ``pyarrow.fs.AzureFileSystem``.

    Raises:
        StorageError: the account key is no text in base64; or there is neither a key nor a SAS token, and the server is
            reached by http.
    """
    key = settings.get("account_key") or ""
    try:
        base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise StorageError(
            f"cannot open {root}: expected an account key of Azure, which is a text in base64, found one of {len(key)} "
            "characters that is not; give it whole, as storage_options={'account_key': ...}",
            path=root,
        ) from None
    schemes = {settings.get("blob_storage_scheme") or "https", settings.get("dfs_storage_scheme") or "https"}
    if not key and not settings.get("sas_token") and "http" in schemes:
        raise StorageError(
            f"cannot open {root}: expected an account key or a SAS token for a server that is reached by http, where "
            "Azure's client sends no others, found none; give storage_options={'account_key': ...}, or use https",
            path=root,
        )


@dataclass(frozen=True, slots=True)
class AzurePut:
    """Azure's Put Blob, with ``If-None-Match: *`` if nothing may be overwritten.

    A request whose answer is lost is repeated, and then fails because its own blob exists.  So a new blob has a random
    id in its metadata, from which a failed request is known to have succeeded.

    Source: Azure Blob service REST API, Put Blob.
    """

    settings: tuple[tuple[str, str], ...]
    is_conditional: bool = True

    def __call__(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Put *data* at *path*; see :class:`hudiformat.storage.putting.Put`."""
        from azure.core.exceptions import AzureError, ResourceExistsError  # noqa: PLC0415 - an extra

        container, _, name = path.partition("/")
        blob = _azure_client(os.getpid(), self.settings).get_blob_client(container, name)
        owner = uuid.uuid4().hex
        try:
            blob.upload_blob(data, overwrite=overwrite, metadata=None if overwrite else {_OWNER: owner})
        except ResourceExistsError as error:
            if blob.get_blob_properties().metadata.get(_OWNER) != owner:
                raise FileExistsError("File exists") from error
        except AzureError as error:
            raise OSError(str(error)) from error

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`hudiformat.storage.versions.Versions.get`."""
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # noqa: PLC0415 - an extra

        container, _, name = path.partition("/")
        try:
            found = _azure_client(os.getpid(), self.settings).get_blob_client(container, name).download_blob()
            return found.readall(), str(found.properties.etag)
        except ResourceNotFoundError:
            return None
        except AzureError as error:
            raise OSError(str(error)) from error

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`hudiformat.storage.versions.Versions.put`."""
        from azure.core import MatchConditions  # noqa: PLC0415 - an extra
        from azure.core.exceptions import (  # noqa: PLC0415 - it comes with an extra
            AzureError,
            ResourceExistsError,
            ResourceModifiedError,
            ResourceNotFoundError,
        )

        container, _, name = path.partition("/")
        condition = {"etag": version, "match_condition": MatchConditions.IfNotModified} if version is not None else {}
        blob = _azure_client(os.getpid(), self.settings).get_blob_client(container, name)
        try:
            return str(blob.upload_blob(data, overwrite=version is not None, **condition)["etag"])
        except (ResourceExistsError, ResourceModifiedError, ResourceNotFoundError):
            return None
        except AzureError as error:
            raise OSError(str(error)) from error

    def __repr__(self) -> str:
        return "AzurePut()"  # the settings contain keys


def azure_put(settings: Mapping[str, str]) -> AzurePut | None:
    """Return what puts blobs of a file system with *settings*; None if Azure's client is not installed."""
    if not _is_there("azure.storage.blob"):
        return None
    return AzurePut(tuple((name, str(value)) for name, value in settings.items()))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@lru_cache(maxsize=16)
def _azure_client(_process: int, settings: tuple[tuple[str, str], ...]) -> Any:
    """Return a client, one per process: a forked process must not share its connections."""
    from azure.storage.blob import BlobServiceClient  # noqa: PLC0415 - an extra

    given = dict(settings)
    account, authority = given["account_name"], given.get("blob_storage_authority") or ".blob.core.windows.net"
    host = f"{account}{authority}" if authority.startswith(".") else f"{authority}/{account}"
    url = f"{given.get('blob_storage_scheme') or 'https'}://{host}"
    return BlobServiceClient(url, credential=_credential(given), retry_total=3)


def _credential(given: Mapping[str, str]) -> Any:
    if given.get("account_key"):
        return {"account_name": given["account_name"], "account_key": given["account_key"]}
    if given.get("sas_token"):
        return given["sas_token"].removeprefix("?")
    from azure.identity import ClientSecretCredential, DefaultAzureCredential  # noqa: PLC0415 - an extra

    if given.get("client_secret"):
        return ClientSecretCredential(given["tenant_id"], given["client_id"], given["client_secret"])
    return DefaultAzureCredential()
