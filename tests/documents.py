"""The pages of the documentation, and what runs their examples: every fenced block, in the order of its page.

- ``python`` runs, and ``output`` after it is what it prints;
- ``console`` is a transcript: lines that begin with ``$`` run, and the others are what they print;
- ``text``, ``json`` and ``properties`` do not run: they show files, layouts, and commands that install something.

In what is printed, ``...`` stands for any text, such as an instant.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudiformat.cli.app import run as command_line
from tests.cli.support import DAMAGED
from tests.conformance.hudi import RealHudi

ROOT = Path(__file__).parents[1]
RUNNING = ("python", "output", "console")
SHOWN = ("text", "json", "properties")
PAGES = {
    path.relative_to(ROOT).as_posix(): path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
NEEDS = {
    "spark": "pyspark|hudiformat.spark",
    "s3": "s3://",
    "hudi": r'format\("hudi"\)',
    "daft": r"hudiformat\.daft",
    "ray": r"hudiformat\.ray",
}
"""What an example needs by what stands in it."""
BUCKET = "s3://my-bucket"
"""The bucket of the examples; the tests' own takes its place."""
LOOSE = "<!-- numbers differ from run to run -->"
"""What a page says whose transcripts have instants, sizes and times in them."""
_NUMBERS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+(\.\d+)?")
_BLOCK = re.compile(r"(?ms)^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$")


@dataclass(frozen=True)
class Block:
    """A fenced block, and the line of its page at which its content begins."""

    language: str
    code: str
    line: int

    @property
    def needs(self) -> str:
        """What it needs besides Python; nothing where it does not run."""
        found = (need for need, pattern in NEEDS.items() if re.search(pattern, self.code))
        return next(found, "") if self.language in ("python", "console") else ""


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = path.read_text("utf-8")
    return [
        Block(found["language"], textwrap.dedent(found["code"]), text.count("\n", 0, found.start()) + 2)
        for found in _BLOCK.finditer(text)
    ]


def pages_that_need(need: str) -> list[str]:
    """The pages with an example that needs *need*."""
    return [name for name, path in PAGES.items() if any(block.needs == need for block in blocks(path))]


@dataclass
class Runner:
    """Runs blocks of one page, which share their names; in the present folder, where ``damaged.log`` is made."""

    page: str
    bucket: str = BUCKET
    hudi: RealHudi | None = None
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    loose: bool = False
    printed: str = ""
    code: int = 0

    def run(self, block: Block) -> None:
        """Run a block, and compare what was printed."""
        if block.needs == "hudi":
            self.printed = self._with_hudi(block)
        elif block.language == "python":
            # The lines before it make the page's own line numbers those of a traceback.
            code = "\n" * (block.line - 1) + block.code.replace(BUCKET, self.bucket)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, self.page, "exec"), self.names)  # noqa: S102 - the pages are ours
            self.printed = out.getvalue()
        elif block.language == "output":
            check(self.printed, block.code, f"{self.page}:{block.line}", loose=self.loose)
        elif block.language == "console":
            self._transcript(block)

    def _with_hudi(self, block: Block) -> str:
        """Run a block in real Hudi's own Spark session; what it leaves in ``result``."""
        assert self.hudi is not None
        return str(self.hudi.eval_(f"path = {self.names['path']!r}\n{block.code}"))

    def _transcript(self, block: Block) -> None:
        for example in re.split(r"^\$ ", block.code.replace(BUCKET, self.bucket), flags=re.MULTILINE)[1:]:
            line, _, expected = example.partition("\n")
            check(self._command(line), expected, f"{self.page}:{block.line}: {line}", loose=self.loose)

    def _command(self, line: str) -> str:
        if line == "echo $?":
            return f"{self.code}\n"
        program, *arguments = shlex.split(line)
        if program == "cat":
            return "".join(Path(name).read_text("utf-8") for name in arguments)
        assert program == "hudiformat", f"{line}: the examples have hudiformat, cat, and echo $?"
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            self.code = command_line(arguments)
        assert self.code in (0, 1), out.getvalue()
        return out.getvalue()


def check(printed: str, expected: str, where: str, *, loose: bool = False) -> None:
    """Compare what was printed with what the page says; ``...`` is any text.  Where *loose*, numbers may differ."""
    if loose:
        printed, expected = _NUMBERS.sub("0", printed), _NUMBERS.sub("0", expected)
        printed, expected = (re.sub(r"\s+", " ", text) for text in (printed, expected))
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split("..."))
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{where}\n\nprinted:\n{printed}\nexpected:\n{expected}"


def run_page(name: str, *, needs: tuple[str, ...] = (), bucket: str = BUCKET, hudi: RealHudi | None = None) -> Runner:
    """Run the blocks of a page in the present folder, up to the first that needs something else than *needs*."""
    Path("damaged.log").write_bytes(DAMAGED)  # what several pages look into
    runner = Runner(name, bucket, hudi, loose=LOOSE in PAGES[name].read_text("utf-8"))
    for block in blocks(PAGES[name]):
        if block.needs and block.needs not in needs:
            break
        runner.run(block)
    return runner
