"""Questions to Hudi's own classes about single values: what they write, read and refuse."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass

_SEPARATOR = "\x1f"


class HudiAnswers:
    """Asks one question after the other; the answer is text, and "refused" where Hudi throws."""

    def __init__(self, hudi: RealHudi) -> None:
        self._java = JavaClass(hudi, "Vectors", Path(__file__).with_name("vectors.java"))

    def __call__(self, question: str, *words: object) -> str:
        answer: str = self._java.call("ask", question, "".join(f"{_SEPARATOR}{word}" for word in words))
        return answer
