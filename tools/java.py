"""A Java that Spark can run on: finds one, installs one where it can, prints its home.

    export JAVA_HOME="$(python3 tools/java.py)"

Looks at JAVA_HOME, at ``java`` on PATH and at the places where systems keep their JVMs, because the first Java on PATH
is often one that Spark does not know.  Only the standard library: this runs before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

VERSIONS = (17, 21)  # those that PySpark 4 supports; PySpark 3.5 is made for 17, so 17 comes first
PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
JVM_FOLDERS = (
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/opt/homebrew/opt",
    "/usr/local/opt",
    "/Library/Java/JavaVirtualMachines",
)


class NoJavaError(Exception):
    """There is no Java 17 or 21, and none can be installed; the message says what to do."""


def java_home(environ: Mapping[str, str] = os.environ, folders: Iterable[str] = JVM_FOLDERS) -> Path | None:
    """The best Java home there is, or None.  JAVA_HOME wins when its version will do; then 17 goes before 21."""
    found: dict[int, Path] = {}
    for number, home in enumerate(_candidates(environ, folders)):
        version = java_version(home)
        if version in VERSIONS:
            if number == 0 and "JAVA_HOME" in environ:
                return home
            found.setdefault(version, home)
    return next((found[version] for version in VERSIONS if version in found), None)


def _candidates(environ: Mapping[str, str], folders: Iterable[str]) -> Iterator[Path]:
    if "JAVA_HOME" in environ:
        yield Path(environ["JAVA_HOME"])
    if java := shutil.which("java", path=environ.get("PATH", "")):
        yield Path(java).resolve().parent.parent
    for folder in folders:
        for home in sorted(Path(folder).glob("*")):
            yield home
            yield home / "Contents" / "Home"  # macOS
            yield home / "libexec" / "openjdk.jdk" / "Contents" / "Home"  # Homebrew


def java_version(home: Path) -> int | None:
    """The feature version of the Java in *home*, or None when there is no usable one."""
    try:
        run = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match[1]) if match else None


def installed_java_home() -> Path:
    """The home of a Java that is installed now.

    Raises:
        NoJavaError: none can be installed.
    """
    install()
    if home := java_home():
        return home
    raise NoJavaError("Java was installed, but not where it is looked for: set JAVA_HOME")


def install() -> None:
    """Install Java 17, else 21, from Debian's packages.

    Raises:
        NoJavaError: not root, no apt-get, or no such package.
    """
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise NoJavaError(f"Spark needs Java 17 or 21 and there is none.  Type:\n\n    {install_command()}\n")
    print("No Java 17 or 21: installing one with apt-get", file=sys.stderr)
    apt_get("update")
    if not any(apt_get("install", package) for package in PACKAGES):
        raise NoJavaError(f"apt-get could install none of {', '.join(PACKAGES)}: install Java 17 or 21 by hand")


def apt_get(*arguments: str) -> bool:
    """Whether apt-get did it.  Its output goes to standard error."""
    command = ["apt-get", "-q", "-y", "--no-install-recommends", *arguments]
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environ, stdout=sys.stderr, check=False).returncode == 0


def install_command() -> str:
    """What a user types on this system to get Java 17."""
    for tool, command in (
        ("apt-get", "sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless"),
        ("dnf", "sudo dnf install -y java-17-openjdk-headless"),
        ("apk", "sudo apk add openjdk17-jre-headless"),
        ("brew", "brew install openjdk@17"),
    ):
        if shutil.which(tool):
            return command
    return "export JAVA_HOME=<the folder of a Java 17>   # once it is installed"


def main() -> int:
    """Print a Java home, installing Java first if need be; 1 when there is none to be had."""
    try:
        print(java_home() or installed_java_home())
    except NoJavaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
