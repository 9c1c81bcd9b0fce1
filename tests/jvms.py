"""How the processes of Spark start that tests have."""

from __future__ import annotations

from pathlib import Path

TRUSTING = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""A JVM that does not verify classes starts in six sevenths of the time."""
SHORT_LIVED = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {TRUSTING} -Djdk.lang.Process.launchMechanism=VFORK"
"""The options of a JVM that has little to do: it starts fast, and leaves the cores to others.

For each file Hadoop has the program chmod run, which VFORK starts in half the time.
"""

SMALL = {"spark.broadcast.blockSize": "64k", "spark.buffer.pageSize": "1m"}
"""Settings of a Spark whose tables are small: by default each stage clears several megabytes that it does not use."""

STARTUP = Path(__file__).with_name("spark") / "startup"
"""The folder of what Spark's Python processes start with."""
