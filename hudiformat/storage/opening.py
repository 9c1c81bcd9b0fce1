"""Open the storage of a path or URI.

The file system of an object store, of pyarrow or fsspec, is made from options.  Their names are those that object-store
libraries share, ``aws_access_key_id`` or ``AWS_ACCESS_KEY_ID``, and pyarrow's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from hudiformat.errors import ArgumentError, OptionError, StorageError, format_value, suggest_names
from hudiformat.storage.arrow import ArrowStorage
from hudiformat.storage.azure import check_azure
from hudiformat.storage.fsspec_files import wrap_fsspec
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Capabilities, Storage

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


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
    "azure_storage_client_id": "client_id",
    "azure_storage_client_secret": "client_secret",
    "azure_storage_tenant_id": "tenant_id",
    "client_id": "client_id",
    "client_secret": "client_secret",
    "tenant_id": "tenant_id",
    "blob_storage_authority": "blob_storage_authority",
    "dfs_storage_authority": "dfs_storage_authority",
    "blob_storage_scheme": "blob_storage_scheme",
    "dfs_storage_scheme": "dfs_storage_scheme",
    "enable_tls": "enable_tls",
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
    if str(arguments.pop("enable_tls", "true")).lower() == "false":
        arguments = {"blob_storage_scheme": "http", "dfs_storage_scheme": "http"} | arguments
    if "account_key" in arguments:
        check_azure(arguments, f"{scheme}://{arguments.get('account_name', '')}")
    endpoint = urlsplit(arguments.get("endpoint_override", ""))
    if endpoint.scheme in ("http", "https") and endpoint.netloc:  # pyarrow wants the scheme by itself
        arguments |= {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme}
    return arguments


Location: TypeAlias = str | os.PathLike[str] | Storage
"""A path, a URI, or an open storage."""

_HADOOP_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}  # Hadoop's schemes and pyarrow's
_OWN_CREDENTIALS = ("account_key", "client_secret", "sas_token", "access_token", "anonymous", "endpoint_override")
_RETRY_SECONDS = 10
_HDFS = ("hdfs", "viewfs")
_NATIVE = "pip install 'hudiformat[hdfs]' brings a client that does not"


class TaskRoot(str):
    """The root of a storage that needs more than this text to be opened, for tasks, which are sent texts."""

    __slots__ = ()

    def open(self) -> Storage:
        """Open the storage; a subclass does."""
        raise NotImplementedError


def open_storage(
    path: Location,
    *,
    filesystem: fs.FileSystem | AbstractFileSystem | None = None,
    capabilities: Capabilities | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Storage:
    """Open the storage whose root is *path*: a local path, or a URI (``s3://bucket/table``).

    URIs are pyarrow's (``s3``, ``gs``, ``hdfs``, ``abfs``; ``s3a`` is the same as ``s3``) and may contain options after
    ``?`` and credentials, which default to environment variables such as ``AWS_ACCESS_KEY_ID``, ``AWS_REGION`` and
    ``AWS_ENDPOINT_URL``.  Other schemes are fsspec's, if fsspec is installed.  With *filesystem*, one of ``pyarrow.fs``
    or of fsspec, *path* is a path in it.

    *storage_options* are credentials and other options for a URI, by the names that object-store libraries share
    (``{"aws_region": "eu-central-1", "aws_access_key_id": ...}``) or by pyarrow's; for fsspec those of its file system.
    They stay in this process: tasks of Spark read their environment.

    *capabilities* declares what a file system can do that hudiformat does not know; without it such a file system can
    only be read.

    Raises:
        StorageError: the scheme is unknown, or the file system cannot be reached.
        OptionError: an unknown option of the storage, or options for a path that is no URI.

    Source: spec/storage.md.
    """
    if not isinstance(path, str | os.PathLike | Storage) or path == "":
        raise ArgumentError(f"path: expected a path, a URI or a Storage, found {format_value(path)}", argument="path")
    options: object = storage_options or {}
    if not isinstance(options, Mapping):
        message = f"storage_options: expected a dict of texts, found {format_value(storage_options)}"
        raise ArgumentError(message, argument="storage_options")
    # Not isinstance(path, Storage), which takes 0.1 ms for a protocol.
    is_uri = isinstance(path, str | os.PathLike) and filesystem is None and "://" in os.fspath(path)
    if storage_options and not is_uri:
        raise OptionError(
            f"storage_options: expected them beside a URI, found {path}; leave them out", option="storage_options"
        )
    if not isinstance(path, str | os.PathLike):
        return path
    if isinstance(path, TaskRoot):
        return path.open()
    text = os.fspath(path)
    if filesystem is not None:
        return ArrowStorage(wrap_fsspec(filesystem), text.split("://", 1)[-1], capabilities=capabilities)
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    if "://" not in text:
        return LocalStorage(text)
    opened, base = _from_uri(text) if not storage_options else _with_options(text, storage_options)
    looked_for = None if storage_options or _has_own_credentials(text) else _scheme(text)
    return ArrowStorage(opened, base, root=_without_secrets(text), capabilities=capabilities, credentials_of=looked_for)


def open_parent(path: str) -> tuple[Storage, str]:
    """Return the storage of the folder that contains the file *path*, and the file's name."""
    path, mark, query = path.partition("?") if "://" in path else (path, "", "")
    folder, separator, name = path.rpartition("/")  # not Path, which makes s3:/b of s3://b
    return open_storage((folder + separator or ".") + mark + query), name


def _from_uri(uri: str) -> tuple[fs.FileSystem, str]:
    scheme, rest = uri.split("://", 1)
    scheme = _HADOOP_SCHEMES.get(scheme, scheme)
    if scheme in _HDFS and (native := _native_hdfs(uri, {})) is not None:
        return native
    if scheme.startswith("abfs") and urlsplit(uri).password is not None:  # pyarrow takes no key from a URI
        return _azure_with_key(uri)
    arrow_uri = _with_limit(f"{scheme}://{rest}")
    try:
        opened, base = fs.FileSystem.from_uri(arrow_uri)
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem type" not in str(error):
            raise _open_error(uri, error) from error
        return _fsspec_from_uri(uri)
    except (OSError, pa.ArrowException) as error:
        if scheme in _HDFS:
            raise _open_error(uri, f"{error}; pyarrow needs Java and libhdfs for it, {_NATIVE}") from error
        raise _open_error(uri, error) from error
    return _with_delayed_open(opened), base


def _native_hdfs(uri: str, options: Mapping[str, str]) -> tuple[fs.FileSystem, str] | None:
    """Return the file system of hdfs-native, which needs no Java, and the path in it; None if it is not installed.

    Hadoop's configuration is looked up in ``HADOOP_CONF_DIR``, as *options* are Hadoop's properties.
    """
    try:
        from hudiformat.storage.hdfs import open_hdfs  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    parts = urlsplit(uri)
    path = "/" + uri.split("://", 1)[1].partition("/")[2]
    try:
        return wrap_fsspec(open_hdfs(parts.scheme, parts.hostname, parts.port, **options)), path
    except Exception as error:  # its errors are Rust's
        raise _open_error(uri, error) from error


def _azure_with_key(uri: str) -> tuple[fs.FileSystem, str]:
    """Open ``abfs://account:key@container/path?options``."""
    parts = urlsplit(uri)
    account, key = unquote(parts.username or ""), unquote(parts.password or "")
    options = {**dict(parse_qsl(parts.query)), "account_name": account, "account_key": key}
    opened, _ = _with_options(f"{parts.scheme}://{parts.hostname}{parts.path}", options)
    return opened, f"{parts.hostname}{parts.path}"


def _scheme(uri: str) -> str:
    scheme = uri.split("://", 1)[0]
    return _HADOOP_SCHEMES.get(scheme, scheme)


def _has_own_credentials(uri: str) -> bool:
    """Return whether a URI contains credentials, or an option that makes them unnecessary."""
    parts = urlsplit(uri)
    is_named = parts.password is not None or parts.username == "anonymous"
    return is_named or any(name in parts.query for name in _OWN_CREDENTIALS)


def _with_limit(uri: str) -> str:
    """Return the URI with a limit for how long Google's client retries: its own limit is a quarter of an hour."""
    if not uri.startswith("gs://") or "retry_limit_seconds" in uri:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}retry_limit_seconds={_RETRY_SECONDS}"


def _with_options(uri: str, options: Mapping[str, str]) -> tuple[fs.FileSystem, str]:
    scheme, rest = uri.split("://", 1)
    if scheme in _HDFS and (native := _native_hdfs(uri, options)) is not None:
        return native
    try:
        opened = make_filesystem(_HADOOP_SCHEMES.get(scheme, scheme), _with_account(uri, options))
    except (OSError, TypeError, ValueError, pa.ArrowException) as error:
        if isinstance(error, OptionError | StorageError):
            raise
        raise _open_error(uri, error) from error
    if opened is None:
        return _fsspec_from_uri(uri, options)
    path = rest.partition("?")[0]
    if scheme.startswith("abfs") and "@" in path:  # container@account.dfs.core.windows.net/path
        container, _, rest = path.partition("@")
        path = f"{container}/{rest.partition('/')[2]}"
    return _with_delayed_open(opened), path


def _with_account(uri: str, options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options; if they have no account, with the account that a URI of Azure names."""
    account = urlsplit(uri).netloc.rpartition("@")[2].partition(".")[0]
    is_named = any(name.lower().endswith("account_name") for name in options)
    return {**options, "account_name": account} if uri.startswith("abfs") and account and not is_named else options


def _with_delayed_open(filesystem: fs.FileSystem) -> fs.FileSystem:
    """Return the same file system; on S3 with the setting that creates a small object in one request, not three."""
    if not isinstance(filesystem, fs.S3FileSystem):
        return filesystem
    make, (settings,) = filesystem.__reduce__()
    known = "allow_delayed_open" in settings  # the oldest versions of pyarrow do not have it
    return make({**settings, "allow_delayed_open": True}) if known else filesystem


def _fsspec_from_uri(uri: str, options: Mapping[str, str] | None = None) -> tuple[fs.FileSystem, str]:
    scheme = uri.split("://", 1)[0]
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StorageError(
            f"{_without_secrets(uri)}: pyarrow has no file system for {scheme}://; install hudiformat[fsspec] to use "
            "fsspec's file systems",
            path=_without_secrets(uri),
        ) from error
    try:
        opened, base = url_to_fs(uri, **(options or {}))
    except (OSError, TypeError, ValueError, ImportError) as error:  # the last where the scheme's package is missing
        raise _open_error(uri, error) from error
    return wrap_fsspec(opened), base


def _without_secrets(uri: str) -> str:
    """Return the URI without user, password and options, for messages."""
    parts = urlsplit(uri)
    is_container = parts.scheme.startswith("abfs") and parts.password is None
    host = parts.netloc if is_container else parts.netloc.rpartition("@")[2]  # container@account
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _open_error(uri: str, error: Exception | str) -> StorageError:
    shown = _without_secrets(uri)
    return StorageError(f"cannot open {shown}: {error}", path=shown)
