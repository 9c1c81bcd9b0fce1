"""Questions to Hudi's own classes about single values: what they write, read and refuse."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.hudi import RealHudi

_SOURCE = Path(__file__).with_name("vectors.java")
_CODE = f"""
compiler = jvm.org.codehaus.janino.SimpleCompiler()
compiler.setParentClassLoader(jvm.org.apache.hudi.common.model.HoodieTableType.values()[0].getClass().getClassLoader())
compiler.cook(open({str(_SOURCE)!r}).read())
types = spark._sc._gateway.new_array(jvm.java.lang.Class, 2)
types[0] = jvm.java.lang.Class.forName("java.lang.String")
types[1] = spark._sc._gateway.new_array(jvm.java.lang.String, 0).getClass()
vector_answers = compiler.getClassLoader().loadClass("Vectors").getMethod("ask", types)


def ask(question, words):
    texts = spark._sc._gateway.new_array(jvm.java.lang.String, len(words))
    for place, word in enumerate(words):
        texts[place] = word
    arguments = spark._sc._gateway.new_array(jvm.java.lang.Object, 2)
    arguments[0], arguments[1] = question, texts
    return vector_answers.invoke(None, arguments)
"""


class HudiAnswers:
    """Asks one question after the other; the answer is text, and "refused" where Hudi throws."""

    def __init__(self, hudi: RealHudi) -> None:
        self._hudi = hudi
        hudi.eval_(_CODE)

    def __call__(self, question: str, *words: object) -> str:
        answer: str = self._hudi.eval_(f"result = ask({question!r}, {[str(word) for word in words]!r})")
        return answer
