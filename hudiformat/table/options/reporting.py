"""The options of what is told of commits: metrics by Hudi's names, and calls by HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit

from hudiformat.errors import OptionError
from hudiformat.table.options.parsers import (
    Keys,
    member_of,
    parse_boolean,
    parse_integer,
    parse_text,
    parser_of_supported,
)

TEXT_FILE = "hudiformat.metrics.textfile"
_METRICS = "hoodie.metrics."
_REPORTER = f"{_METRICS}reporter.type"
_GATEWAY = f"{_METRICS}pushgateway."
_CALLBACK = "hoodie.write.commit.callback."


class Reporter(Enum):
    """Where metrics go, of the reporters that Hudi has (``hoodie.metrics.reporter.type``).

    Source: org.apache.hudi.metrics.MetricsReporterType.
    """

    PUSH_GATEWAY = "PROMETHEUS_PUSHGATEWAY"
    LOG = "SLF4J"


_OTHERS = ("GRAPHITE", "INMEMORY", "JMX", "DATADOG", "CONSOLE", "PROMETHEUS", "CLOUDWATCH", "M3")
_SUPPORTED = f"PROMETHEUS_PUSHGATEWAY, SLF4J, or a file named by {TEXT_FILE}"


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """A push gateway of Prometheus, and the job and the labels under which metrics are pushed.

    With ``has_suffix`` each process has a job of its own.  With ``is_cleared`` its metrics are deleted when it ends.

    Source: HoodieMetricsPrometheusConfig, Hudi 1.2.0.
    """

    host: str = "localhost"
    port: int = 9091
    job: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    has_suffix: bool = True
    is_cleared: bool = True


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """Whether and where metrics are reported.  Their names begin with ``prefix``, by default the table's name.

    ``text_file`` is a file for the textfile collector of Prometheus' node exporter.

    Source: HoodieMetricsConfig, Hudi 1.2.0.
    """

    is_on: bool = False
    reporter: Reporter | None = None
    text_file: str = ""
    prefix: str | None = None
    log_blocks: bool = False
    gateway: GatewayOptions = field(default_factory=GatewayOptions)

    def check(self) -> None:
        """Raise an OptionError if metrics are on and go nowhere."""
        if self.is_on and self.reporter is None and not self.text_file:
            raise OptionError(
                f"{_REPORTER}: expected {_SUPPORTED}, found none, which is GRAPHITE in Hudi; set one of them",
                option=_REPORTER,
            )


@dataclass(frozen=True, slots=True)
class CallbackOptions:
    """A service that is told of each write by an HTTP POST; ``timeout`` is seconds.

    Source: HoodieWriteCommitCallbackConfig, Hudi 1.2.0.
    """

    is_on: bool = False
    url: str = ""
    timeout: int = 30
    api_key: str = field(default="hudi_write_commit_http_callback", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def check(self) -> None:
        """Raise an OptionError if the callback is on and has no address."""
        if self.is_on and not self.url:
            raise OptionError(
                f"{_CALLBACK}http.url: expected the address that is told of commits, found none; set it",
                option=f"{_CALLBACK}http.url",
            )


def _parse_url(key: str, value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(
            f"{key}: expected an address that begins with http:// or https://, found {value!r}", option=key
        )
    return value


def _parse_headers(key: str, value: str) -> tuple[tuple[str, str], ...]:
    """Parse ``name:value;name:value``.  Source: HoodieWriteCommitHttpCallbackClient.parseCustomHeaders."""
    pairs = []
    for part in filter(None, value.split(";")):
        name, _, text = (piece.strip() for piece in part.partition(":"))
        if not name or not text or ":" in text:
            raise OptionError(f"{key}: expected name:value;name:value, found {part!r}", option=key)
        pairs.append((name, text))
    return tuple(pairs)


def _parse_labels(key: str, value: str) -> tuple[tuple[str, str], ...]:
    """Parse ``name:value,name:value``.  Source: MetricUtils.getLabelsAsMap."""
    labels: dict[str, str] = {}
    for part in filter(None, value.split(",")):
        name, _, text = part.partition(":")
        if not name or name in labels:
            raise OptionError(f"{key}: expected name:value,name:value, each name once, found {value!r}", option=key)
        labels[name] = text
    return tuple(labels.items())


METRICS_KEYS: Keys = {
    f"{_METRICS}on": ("is_on", parse_boolean),
    _REPORTER: ("reporter", parser_of_supported(member_of(Reporter), supported=_SUPPORTED, others=_OTHERS)),
    f"{_METRICS}reporter.metricsname.prefix": ("prefix", parse_text),
    "hoodie.metricscompaction.log.blocks.on": ("log_blocks", parse_boolean),
    TEXT_FILE: ("text_file", parse_text),
}
GATEWAY_KEYS: Keys = {
    f"{_GATEWAY}host": ("host", parse_text),
    f"{_GATEWAY}port": ("port", parse_integer),
    f"{_GATEWAY}job.name": ("job", parse_text),
    f"{_GATEWAY}report.labels": ("labels", _parse_labels),
    f"{_GATEWAY}random.job.name.suffix": ("has_suffix", parse_boolean),
    f"{_GATEWAY}delete.on.shutdown": ("is_cleared", parse_boolean),
}
CALLBACK_KEYS: Keys = {
    f"{_CALLBACK}on": ("is_on", parse_boolean),
    f"{_CALLBACK}http.url": ("url", _parse_url),
    f"{_CALLBACK}http.timeout.seconds": ("timeout", parse_integer),
    f"{_CALLBACK}http.api.key": ("api_key", parse_text),
    f"{_CALLBACK}http.custom.headers": ("headers", _parse_headers),
}
