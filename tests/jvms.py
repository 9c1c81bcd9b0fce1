"""How the processes of Spark start that tests have."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tools.class_archive import ClassArchiveError, class_archive, using

TRUSTING = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""A JVM that does not verify classes starts in six sevenths of the time."""
SHORT_LIVED = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {TRUSTING} -Djdk.lang.Process.launchMechanism=VFORK"
"""The options of a JVM that has little to do: it starts fast, and leaves the cores to others.

For each file Hadoop has the program chmod run, which VFORK starts in half the time.
"""


def use_archive(home: Path) -> None:
    """Have the JVMs of PySpark that this process starts from now on take their classes from an archive."""
    if os.environ.get("SPARK_SUBMIT_OPTS") == SHORT_LIVED:
        with contextlib.suppress(ClassArchiveError):
            os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} {using(class_archive(home, SHORT_LIVED))}"


SMALL = {"spark.broadcast.blockSize": "64k", "spark.buffer.pageSize": "1m"}
"""Settings of a Spark whose tables are small: by default each stage clears several megabytes that it does not use."""

STARTUP = Path(__file__).with_name("spark") / "startup"
"""The folder of what Spark's Python processes start with."""
