"""A Kerberos server for tests: MIT's krb5kdc, from Debian's packages krb5-kdc, krb5-admin-server and krb5-user.

It runs as any user, with its database in a folder.  Only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.environments import cache_folder, locked
from tools.java import apt_get
from tools.store_servers import NoServerError

REALM = "EXAMPLE.COM"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PACKAGES = ("krb5-kdc", "krb5-admin-server", "krb5-user")
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIG = """
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
_SERVER_CONFIG = """
[kdcdefaults]
  kdc_ports = {port}
  kdc_tcp_ports = {port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
  }}
"""


@dataclass(frozen=True, slots=True)
class Kerberos:
    """A server that runs; ``environ`` is how programs find it."""

    folder: Path
    environ: dict[str, str]

    def keytab(self, principals: Sequence[str]) -> Path:
        """Add *principals* of the realm, and return a file with their keys."""
        path = self.folder / f"{principals[0].replace('/', '-')}.keytab"
        for principal in principals:
            self._admin(f"addprinc -randkey {principal}")
        self._admin(f"ktadd -k {path} {' '.join(principals)}")
        return path

    def ticket(self, principal: str, keytab: Path) -> str:
        """Get a ticket for *principal*, and return the name of the cache that it is in."""
        cache = f"FILE:{self.folder}/{principal}.tickets"
        _run(["kinit", "-c", cache, "-k", "-t", str(keytab), principal], self.environ)
        return cache

    def _admin(self, command: str) -> None:
        _run(["kadmin.local", "-r", REALM, "-q", command], self.environ)


@contextlib.contextmanager
def kerberos_server(folder: Path) -> Iterator[Kerberos]:
    """Run a server with its database in *folder*.

    Raises:
        NoServerError: its programs are not installed, or it does not start.
    """
    _install()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {"realm": REALM, "port": port, "folder": folder}
    config, server_config = folder / "krb5.conf", folder / "kdc.conf"
    config.write_text(_CONFIG.format(**values))
    server_config.write_text(_SERVER_CONFIG.format(**values))
    environ = {"KRB5_CONFIG": str(config), "KRB5_KDC_PROFILE": str(server_config)}
    _run(["kdb5_util", "create", "-s", "-P", "secret", "-r", REALM], environ)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["krb5kdc", "-n"], env=_all(environ), stdout=log, stderr=log)
    try:
        _wait_for(process, port, folder / "log")
        yield Kerberos(folder, environ)
    finally:
        process.terminate()
        process.wait(10)


def _missing() -> list[str]:
    return [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]


def _install() -> None:
    """Install the programs from Debian's packages, if they are not there and it can be done."""
    if _missing() and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        with locked(cache_folder() / "kerberos.lock"):  # of several processes of tests, one installs them
            if _missing():
                apt_get("update")
                apt_get("install", *_PACKAGES)
    if missing := _missing():
        raise NoServerError(f"there is no {', no '.join(missing)}: apt install {' '.join(_PACKAGES)} (Debian)")


def _run(command: Sequence[str], environ: dict[str, str]) -> None:
    done = subprocess.run(command, env=_all(environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoServerError(f"{command[0]} failed: {done.stderr}")


def _all(environ: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PATH": _PATH, **environ}


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > end:
            raise NoServerError(f"krb5kdc does not start: {log.read_text(errors='replace')}")
        time.sleep(0.05)
