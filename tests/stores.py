"""The stores that are tried on real servers: which server each needs, and how it is opened."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

from hudiformat import open_storage
from hudiformat.storage.protocol import Storage
from tools.java import java_home
from tools.s3_server import S3Server, s3_server
from tools.store_servers import (
    AZURE_ACCOUNT,
    AZURE_KEY,
    NoServerError,
    azure_server,
    gcs_server,
    hdfs_server,
    make_bucket,
)


def _new_name() -> str:
    return f"bucket-{uuid.uuid4()}"


def _on_s3(server: S3Server) -> Storage:
    os.environ.update(server.environ)  # where its address and its key are looked for
    name = _new_name()
    fs.FileSystem.from_uri(f"s3://{name}?allow_bucket_creation=true")[0].create_dir(name)
    return open_storage(f"s3://{name}/t")


def _on_s3fs(server: S3Server) -> Storage:
    from s3fs import S3FileSystem

    return open_storage(_on_s3(server).root, filesystem=S3FileSystem(skip_instance_cache=True))


def _on_gcs(port: int) -> Storage:
    name = _new_name()
    make_bucket(port, name)
    return open_storage(f"gs://anonymous@{name}/t?scheme=http&endpoint_override=127.0.0.1:{port}")


def _on_gcsfs(port: int) -> Storage:
    from gcsfs.core import GCSFileSystem

    name = _new_name()
    make_bucket(port, name)
    endpoint = f"http://127.0.0.1:{port}"
    files = GCSFileSystem(token="anon", endpoint_url=endpoint, project="tests", skip_instance_cache=True)  # noqa: S106
    return open_storage(f"{name}/t", filesystem=files)


def _container(port: int) -> str:
    from azure.storage.blob import BlobServiceClient

    name = _new_name()
    credential = {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
    BlobServiceClient(f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}", credential=credential).create_container(name)
    return name


def _on_azure(port: int) -> Storage:
    where = f"127.0.0.1:{port}"
    options = {"blob_storage_authority": where, "dfs_storage_authority": where, "enable_tls": "false"}
    options |= {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY}
    return open_storage(f"abfs://{_container(port)}/t", storage_options=options)


def _on_adlfs(port: int) -> Storage:
    from adlfs import AzureBlobFileSystem

    text = f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
    text += f"BlobEndpoint=http://127.0.0.1:{port}/{AZURE_ACCOUNT};"
    return open_storage(f"{_container(port)}/t", filesystem=AzureBlobFileSystem(connection_string=text))


def _on_hdfs(uri: str) -> Storage:
    return open_storage(f"{uri}/{uuid.uuid4()}")


def _hdfs_server(folder: Path) -> contextlib.AbstractContextManager[str]:
    home = java_home()
    if home is None:
        raise NoServerError("there is no Java 17 or 21: run tools/java.py")
    return hdfs_server(folder, home)


@dataclass(frozen=True, slots=True)
class Store:
    """A way to a server: the fixture that has it, what runs it elsewhere, and what opens a new folder there."""

    fixture: str
    server: Callable[[Path], contextlib.AbstractContextManager[Any]]
    open: Callable[[Any], Storage]

    @contextlib.contextmanager
    def opened(self, folder: Path) -> Iterator[Storage]:
        """Run the server with its files in *folder*, and yield a storage on it."""
        with self.server(folder) as server:
            yield self.open(server)


STORES = {
    "s3": Store("s3", s3_server, _on_s3),
    "s3fs": Store("s3", s3_server, _on_s3fs),
    "gs": Store("gcs", gcs_server, _on_gcs),
    "gcsfs": Store("gcs", gcs_server, _on_gcsfs),
    "azure": Store("azure", azure_server, _on_azure),
    "adlfs": Store("azure", azure_server, _on_adlfs),
    "hdfs": Store("hdfs", _hdfs_server, _on_hdfs),
}


def run_on_stores(
    program: str, what: str, *, counted: str, count: int, work: Callable[[str, Storage, int, int], object]
) -> None:
    """Do *work* with each store that the command line names: it gets its name, the store, a number and a seed."""
    parser = argparse.ArgumentParser(prog=program, description=what)
    parser.add_argument("--store", choices=[*STORES, "all"], default="all")
    parser.add_argument(f"--{counted}", dest="count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in STORES if chosen.store == "all" else [chosen.store]:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            STORES[name].opened(Path(folder)) as store,
        ):
            began = time.monotonic()
            try:
                work(name, store, chosen.count, chosen.seed)
            finally:
                print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
