"""A virtual environment, on a Debian too whose Python comes without the means to make one.

    python3 tools/venv.py .venv

Only the standard library: this runs before anything is installed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path


def has_ensurepip() -> bool:
    """Whether this Python can put pip into a new environment; Debian ships that apart."""
    return importlib.util.find_spec("ensurepip") is not None


def install_venv() -> None:
    """Install Debian's package for virtual environments, or stop with the command to type."""
    package = f"python3.{sys.version_info.minor}-venv"
    command = f"apt-get update && apt-get install -y {package}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit(f"This Python cannot make a virtual environment.  Type:\n\n    sudo sh -c '{command}'\n")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(["sh", "-c", command], env=environ, check=False).returncode:
        sys.exit(f"apt-get could not install {package}: install it by hand")


def main(arguments: list[str]) -> None:
    """Make the environment that the one argument names, if it is not there."""
    folder = Path(arguments[0])
    if not has_ensurepip():
        install_venv()
    # a process of its own, which sees what has just been installed
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
