"""A Hive Metastore for tests: the standalone one of Hive 3.1.3, with its tables in Derby.

    python3 tools/hive_metastore.py            # fetches it, or finds it there, and prints its folder

Its jars come from Maven Central, 78 MB, into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``), with an empty
database that each server gets a copy of: to make one takes ten seconds.  After that nothing needs the network.  Only
the standard library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.java import java_home
from tools.maven import NoArtifactError, fetched

VERSION = "3.1.3"
_HADOOP = "3.4.1"
_ARCHIVE = f"org/apache/hive/hive-standalone-metastore/{VERSION}/hive-standalone-metastore-{VERSION}-bin.tar.gz"
FILES = {
    _ARCHIVE: "83ddf76717eeb789091d845c069a631c25cad561c3d31ec0843a1ddf21f29409",
    f"org/apache/hadoop/hadoop-client-api/{_HADOOP}/hadoop-client-api-{_HADOOP}.jar": (
        "a964d4daa054c9615bbafb4553efbb140fa7fb9ac6f358a24393f183a5703438"
    ),
    f"org/apache/hadoop/hadoop-client-runtime/{_HADOOP}/hadoop-client-runtime-{_HADOOP}.jar": (
        "f6a800a159f918670db533606d33560d6c13b7e13f14eda493280ae33b9eeb2f"
    ),
    "commons-collections/commons-collections/3.2.2/commons-collections-3.2.2.jar": (
        "eeeae917917144a68a741d4c0dff66aa5c5c5fd85593ff217bced3fc8ca783b8"
    ),
    "commons-cli/commons-cli/1.5.0/commons-cli-1.5.0.jar": (
        "bc8bb01fc0fad250385706e20f927ddcff6173f6339b387dc879237752567ac6"
    ),
    "commons-io/commons-io/2.16.1/commons-io-2.16.1.jar": (
        "f41f7baacd716896447ace9758621f62c1c6b0a91d89acee488da26fc477c84f"
    ),
    "commons-logging/commons-logging/1.2/commons-logging-1.2.jar": (
        "daddea1ea0be0f56978ab3006b8ac92834afeefbd9b7e4e6316fca57df0fa636"
    ),
    "javax/servlet/javax.servlet-api/3.1.0/javax.servlet-api-3.1.0.jar": (
        "af456b2dd41c4e82cf54f3e743bc678973d9fe35bd4d3071fa05c7e5333b8482"
    ),
    "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar": (
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"
    ),
}
"""By their paths below Maven Central's address; the metastore's archive lacks what all others bring."""

_CLASSES = "org.apache.hadoop.hive.metastore."
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")  # it lives for a short time
_SETTINGS = """\
<configuration>
<property><name>javax.jdo.option.ConnectionURL</name><value>jdbc:derby:{folder}/db;create=true</value></property>
<property>
  <name>javax.jdo.option.ConnectionDriverName</name><value>org.apache.derby.jdbc.EmbeddedDriver</value>
</property>
<property><name>metastore.warehouse.dir</name><value>{folder}/warehouse</value></property>
<property>
  <name>metastore.expression.proxy</name><value>{classes}DefaultPartitionExpressionProxy</value>
</property>
<property>
  <name>metastore.task.threads.always</name><value>{classes}events.EventCleanerTask</value>
</property>
<property><name>metastore.event.db.notification.api.auth</name><value>false</value></property>
</configuration>
"""


class NoMetastoreError(Exception):
    """The metastore cannot be fetched or does not start; the message says why."""


@dataclass(frozen=True, slots=True)
class HiveMetastore:
    """A metastore at work."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def uri(self) -> str:
        """Its address, as Hive's clients take it."""
        return f"thrift://127.0.0.1:{self.port}"


def metastore_home(java: Path) -> Path:
    """The folder of the metastore's jars and of an empty database, made if it is not there yet.

    Raises:
        NoMetastoreError: a jar cannot be fetched, or the database cannot be made.
    """
    home = cache_folder() / f"hive-metastore-{VERSION}"
    with locked(home.with_suffix(".lock")):
        if (home / "complete").exists():
            return home
        shutil.rmtree(home, ignore_errors=True)
        try:
            archive, *_ = fetched(home / "lib", FILES)
        except NoArtifactError as error:
            raise NoMetastoreError(str(error)) from error
        with tarfile.open(archive) as packed:
            for member in packed.getmembers():
                member.name = member.name.partition("/")[2]  # without the folder that names the version
                if member.isfile() and member.name.startswith(("lib/", "scripts/metastore/upgrade/derby/")):
                    _copy(packed, member, home / member.name)
        archive.unlink()
        _make_database(home, java)
        (home / "complete").touch()
    return home


def _copy(packed: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Write a file of an archive; ``extract`` has the argument ``filter``, which newer Pythons want, from 3.11.4 on."""
    target.parent.mkdir(parents=True, exist_ok=True)
    source = packed.extractfile(member)
    assert source is not None  # noqa: S101 - it is a file
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


def _make_database(home: Path, java: Path) -> None:
    command = [*_command(home, home / "template", java), f"{_CLASSES}tools.MetastoreSchemaTool"]
    environ = {**os.environ, "METASTORE_HOME": str(home)}  # where its scripts are
    run = subprocess.run(
        [*command, "-dbType", "derby", "-initSchema"], env=environ, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise NoMetastoreError(f"cannot make a database: {(run.stdout + run.stderr)[-1000:]}")


def _command(home: Path, folder: Path, java: Path) -> list[str]:
    """Return the beginning of a command that runs a class of the metastore with its files in *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metastore-site.xml").write_text(_SETTINGS.format(folder=folder, classes=_CLASSES))
    path = f"{folder}:{home}/lib/*"
    return [str(java / "bin" / "java"), *_JAVA, f"-Dderby.stream.error.file={folder}/derby.log", "-cp", path]


@contextlib.contextmanager
def hive_metastore(folder: Path, java: Path, *, patience: float = 60) -> Iterator[HiveMetastore]:
    """Run a metastore with its files in *folder*, on a port of its own, for as long as the block lasts.

    It has *patience* seconds to start, of which it takes four.

    Raises:
        NoMetastoreError: it cannot be fetched, or does not start.
    """
    home = metastore_home(java)
    shutil.copytree(home / "template" / "db", folder / "db")
    port = _free_port()
    with (folder / "log").open("wb") as log:
        command = [*_command(home, folder, java), f"{_CLASSES}HiveMetaStore", "-p", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "log", patience)
        yield HiveMetastore(port, folder, process)
    finally:
        process.kill()  # what it has in its folder is of no use any more
        process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if process.poll() is not None:
            raise NoMetastoreError(f"the metastore ended with {process.returncode}: {log.read_text()[-1000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.05)
    raise NoMetastoreError(f"the metastore does not answer after {patience} s: {log.read_text()[-1000:]}")


def main() -> int:
    """Print the folder of the metastore; 1 when it cannot be had."""
    java = java_home()
    if java is None:
        print("no Java 17 or 21: run tools/java.py", file=sys.stderr)
        return 1
    try:
        print(metastore_home(java))
    except NoMetastoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
