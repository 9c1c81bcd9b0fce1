"""Java of the tests' own, in the JVM of real Hudi: a file is compiled by Spark's Janino, its static methods called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.hudi import RealHudi

_CODE = """
def java_compile(name, source, jars):
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    loader = jvm.org.apache.hudi.common.model.HoodieTableType.values()[0].getClass().getClassLoader()
    if jars:
        urls = spark._sc._gateway.new_array(jvm.java.net.URL, len(jars))
        for place, jar in enumerate(jars):
            urls[place] = jvm.java.net.URL(jar)
        loader = jvm.java.net.URLClassLoader(urls, loader)
    compiler.setParentClassLoader(loader)
    compiler.setTargetVersion(8)  # calls static methods of interfaces
    compiler.cook(source)
    methods = compiler.getClassLoader().loadClass(name).getMethods()
    return {method.getName(): method for method in methods}


def java_call(method, arguments):
    array = spark._sc._gateway.new_array(jvm.java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return method.invoke(None, array)
"""


class JavaClass:
    """The public class of a Java file, by its static methods; arguments and results are texts and numbers.

    It sees the classes of *jars* besides those of Hudi and Spark.
    """

    def __init__(self, hudi: RealHudi, name: str, source: Path, jars: Sequence[Path] = ()) -> None:
        self._hudi = hudi
        self._name = name
        urls = [jar.as_uri() for jar in jars]
        hudi.eval_(f"{_CODE}\njava_{name} = java_compile({name!r}, {source.read_text('utf-8')!r}, {urls!r})")

    def call(self, method: str, *arguments: Any) -> Any:
        """What the method returns; its exceptions arrive as RealHudiError."""
        return self._hudi.eval_(f"result = java_call(java_{self._name}[{method!r}], {list(arguments)!r})")
