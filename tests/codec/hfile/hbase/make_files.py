"""Makes the HFiles beside it with HBase's own writer, as Hudi up to 1.0 has it in its bundle.

    mvn dependency:copy -Dartifact=org.apache.hudi:hudi-spark3.5-bundle_2.12:0.15.0 -DoutputDirectory=.
    python make_files.py hudi-spark3.5-bundle_2.12-0.15.0.jar        # with PySpark 3.5 installed, for its jars and py4j

They hold what Hudi's own writer does not make: an index of three levels, with keys that are no block's first; CRC32;
memstore timestamps; several entries of one key.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

HERE = Path(__file__).parent


class Writer:
    """Writes files with the HBase in *bundle*, next to the jars in the folder *jars*."""

    def __init__(self, bundle: str, jars: Path) -> None:
        port = launch_gateway(classpath=f"{bundle}:{jars}/*", die_on_exit=True)
        self._jvm: Any = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True)).jvm
        self._hbase = self._jvm.org.apache.hudi.org.apache.hadoop.hbase

    def write(self, name: str, codec: str, checksum: str, *, repeat: int = 1, timestamp: int | None = 0) -> None:
        """200 entries in blocks of 512 bytes; of each key *repeat*, with *timestamp* (and those after it) or none."""
        hfile = self._hbase.io.hfile
        conf = self._jvm.org.apache.hadoop.conf.Configuration()
        conf.setInt("hfile.index.block.max.size", 128)
        conf.setInt("hfile.index.block.min.entries", 2)
        conf.setFloat("hfile.block.cache.size", 0.0)
        context = hfile.HFileContextBuilder().withBlockSize(512).withIncludesMvcc(timestamp is not None)
        context.withCompression(getattr(self._hbase.io.compress.Compression.Algorithm, codec))
        context.withChecksumType(getattr(self._hbase.util.ChecksumType, checksum))
        files = self._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf)
        factory = hfile.HFile.getWriterFactory(conf, hfile.CacheConfig(conf))
        factory.withPath(files, self._jvm.org.apache.hadoop.fs.Path(str(HERE / name)))
        writer = factory.withFileContext(context.build()).create()
        for number in range(200):
            key, value = b"key-%05d-of-200" % (number // repeat), b"value %d" % number
            entry = self._hbase.KeyValue(bytearray(key), None, None, bytearray(value))
            entry.setSequenceId(timestamp + number if timestamp else 0)
            writer.append(entry)
        writer.close()


def main() -> None:
    """Write the files."""
    import pyspark

    writer = Writer(sys.argv[1], Path(pyspark.__file__).parent / "jars")
    writer.write("levels.hfile", "NONE", "CRC32")
    writer.write("repeated.hfile", "GZ", "CRC32", repeat=20)
    writer.write("timestamps.hfile", "GZ", "CRC32C", timestamp=100)
    writer.write("unchecked.hfile", "NONE", "NULL", timestamp=None)


if __name__ == "__main__":
    main()
