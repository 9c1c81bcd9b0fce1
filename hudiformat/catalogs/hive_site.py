"""Find the Hive Metastore in Hive's own configuration, where options name none."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as ET

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.options.sync import METASTORE_URIS, SyncOptions

_FILE = "hive-site.xml"
_FOLDERS = ("HIVE_CONF_DIR", "HADOOP_CONF_DIR")
"""The variables of the environment that name the folders, the first one first."""
_URIS = "hive.metastore.uris"
_BY_DEFAULT = ("thrift://localhost:9083",)


def metastores_of(options: SyncOptions) -> tuple[str, ...]:
    """Return the addresses of the servers of a Hive Metastore: those of *options*, or of ``hive-site.xml``.

    Raises:
        OptionError: the file cannot be parsed.
        UnsupportedFeatureError: it says that the metastore asks for Kerberos or TLS.

    Source: HiveConf, which Hudi's sync reads where ``hoodie.datasource.hive_sync.metastore.uris`` is missing.
    """
    if options.uris:
        return options.uris
    for folder in filter(None, map(os.environ.get, _FOLDERS)):
        path = Path(folder, _FILE)
        if path.is_file():
            found = _properties(path)
            for name in ("hive.metastore.sasl.enabled", "hive.metastore.use.SSL"):
                if found.get(name, "").lower() == "true":
                    raise UnsupportedFeatureError(
                        f"{path}: expected a metastore without Kerberos and TLS, found {name}=true; name another "
                        f"one by {METASTORE_URIS}, or use Hudi's own sync",
                        feature=name,
                    )
            if uris := [one.strip() for one in found.get(_URIS, "").split(",") if one.strip()]:
                return tuple(uris)
    return _BY_DEFAULT


def _properties(path: Path) -> dict[str, str]:
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - the configuration of the machine
    except ET.ParseError as error:
        raise OptionError(
            f"{path}: expected Hadoop's form of a configuration, found {error}; mend it, or set {METASTORE_URIS}",
            option=METASTORE_URIS,
        ) from error
    return {one.findtext("name", "").strip(): one.findtext("value", "").strip() for one in root.iter("property")}
