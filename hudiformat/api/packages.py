"""Import the packages that are no dependencies of hudiformat, or say how they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hudiformat.errors import UnsupportedFeatureError


def import_package(name: str, *, extra: str) -> Any:
    """Import and return the module *name*, which the extra *extra* of hudiformat brings.

    Raises:
        UnsupportedFeatureError: it is not installed, or is too old to have that module.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        message = (
            f"expected the package {package} to be installed, with the module {name}, found none; "
            f"install it: pip install 'hudiformat[{extra}]'"
        )
        raise UnsupportedFeatureError(message, feature=package) from error
