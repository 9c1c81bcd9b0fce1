"""A server that speaks S3, for tests: versitygw, which keeps objects as files of a folder.

    python3 tools/s3_server.py            # builds it, or finds it built, and prints its path

It is built once with Go into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``), under its version, which takes
three to five minutes on two cores; after that nothing needs the network.  Only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked

MODULE = "github.com/versity/versitygw/cmd/versitygw"
VERSION = "v1.8.0"
GO_FOLDERS = ("/usr/local/go/bin", "/usr/lib/go/bin", "/opt/homebrew/bin")
KEY, SECRET = "tests", "tests-secret"  # of a server that only this machine reaches
_STARTUP = 20  # seconds


class NoS3ServerError(Exception):
    """The server cannot be built or does not start; the message says why."""


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
    """The server's program, built if it is not there yet.

    Raises:
        NoS3ServerError: there is no Go, or the build fails.
    """
    folder = cache_folder() / f"versitygw-{VERSION}"
    program = folder / "versitygw"
    if not program.exists():
        with locked(folder.with_suffix(".lock")):
            if not program.exists():
                _build(program)
    return program


def _build(program: Path) -> None:
    go = shutil.which("go") or shutil.which("go", path=os.pathsep.join(GO_FOLDERS))
    if go is None:
        raise NoS3ServerError("there is no Go, which the S3 server is built with: install Go 1.21 or later")
    scratch = program.with_name("building")
    print(f"Building the S3 server {MODULE}@{VERSION} in {program.parent}", file=sys.stderr, flush=True)
    # GOTOOLCHAIN: an older Go fetches the one that the module asks for.
    environ = {**os.environ, "GOBIN": str(scratch), "GOTOOLCHAIN": "auto"}
    run = subprocess.run(
        [go, "install", f"{MODULE}@{VERSION}"], env=environ, capture_output=True, text=True, check=False
    )
    if run.returncode:
        tail = "\n".join(run.stderr.strip().splitlines()[-15:])
        raise NoS3ServerError(f"go install {MODULE}@{VERSION} failed ({run.returncode}):\n{tail}")
    (scratch / program.name).replace(program)  # half a program never has the name
    scratch.rmdir()


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A server whose buckets are the folders in *folder*, on a port of its own, for as long as the block lasts.

    Raises:
        NoS3ServerError: it cannot be built or does not start.
    """
    program = s3_program()
    (folder / "buckets").mkdir(parents=True)
    (folder / "metadata").mkdir()  # beside the objects: not every file system has extended attributes
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", f"127.0.0.1:{port}", "--access", KEY, "--secret", SECRET, "--quiet"]
    backend = ["posix", "--sidecar", str(folder / "metadata"), str(folder / "buckets")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(program), *options, *backend], stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "log")
        yield S3Server(port, process)
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _STARTUP
    while time.monotonic() < end:
        if process.poll() is not None:
            raise NoS3ServerError(f"the S3 server ended with {process.returncode}: {log.read_text()[-1000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise NoS3ServerError(f"the S3 server does not answer after {_STARTUP} s")


def main() -> int:
    """Print the path of the server's program, building it first if need be; 1 when that fails."""
    try:
        print(s3_program())
    except NoS3ServerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
