"""A Chromium for the tests of pages: finds one, installs one where it can, prints its path.

    python3 tools/chromium.py

Only the standard library.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.java import apt_get

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class NoChromiumError(Exception):
    """There is no Chromium, and none can be installed; the message says what to do."""


def chromium(environ: Mapping[str, str] = os.environ) -> str | None:
    """The path of the first Chromium or Chrome on PATH, or None."""
    path = environ.get("PATH", "")
    return next((found for name in NAMES if (found := shutil.which(name, path=path))), None)


def installed_chromium() -> str:
    """The path of a Chromium that is there, or was installed now from Debian's packages.

    Raises:
        NoChromiumError: there is none, and none can be installed.
    """
    if found := chromium():
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise NoChromiumError("there is no Chromium: sudo apt-get install -y chromium, or put one on PATH")
    with locked(cache_folder() / "chromium.lock"):  # of several processes of tests, one installs it
        if chromium() is None:
            print("No Chromium: installing it with apt-get", file=sys.stderr)
            apt_get("update")
            apt_get("install", "chromium")
    if found := chromium():
        return found
    raise NoChromiumError("apt-get could not install chromium: install it by hand, or put one on PATH")


def main() -> int:
    """Print the path of a Chromium, installing it first if need be; 1 when there is none to be had."""
    try:
        print(installed_chromium())
    except NoChromiumError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
