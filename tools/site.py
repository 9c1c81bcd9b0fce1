"""The site of the documentation: MkDocs calls this module (``hooks`` in ``mkdocs.yml``).

Pages that stand elsewhere in the repository, such as ``spec/``, are pages of the site too.  Links are written for the
repository, so that they work where the pages are read there; here they become links of the site, and links to other
files of the repository become links to the place where it is published.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/hudiformat/hudiformat"
SITE = "https://hudiformat.readthedocs.io/en/latest/"
OTHER_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
               "CODE_OF_CONDUCT.md": "code-of-conduct.md"}  # fmt: skip
"""Pages at the top of the repository, and their names in the site."""
OTHER_FOLDERS = ("spec", "benchmarks")
"""Folders whose pages have the same names in the site."""
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
_ROLE = re.compile(r":(?:meth|func|class|attr|mod|exc|data):(?=<code>|<a |<autoref)")
_FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def other_pages() -> dict[str, str]:
    """The pages outside of ``docs``, and what belongs to them: where each is in the site, and in the repository."""
    pages = {target: source for source, target in OTHER_PAGES.items()}
    for folder in OTHER_FOLDERS:
        found = (path for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".png", ".svg"})
        pages |= {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix() for path in sorted(found)}
    return pages


def in_repository(page: str) -> str:
    """Where a page of the site is in the repository."""
    return other_pages().get(page, f"docs/{page}")


def in_site(path: str) -> str:
    """Where a file of the repository is in the site; a URL of the published repository if it is not there."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in OTHER_PAGES:
        return OTHER_PAGES[path]
    if path in other_pages():
        return path
    if not (ROOT / path).exists():
        raise FileNotFoundError(f"a page links to {path}, which is not in the repository")
    return f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def with_links(text: str, page: str) -> str:
    """The *text* of a page of the site with the links of the site in place of those of the repository."""
    folder, here = PurePosixPath(in_repository(page)).parent, PurePosixPath(page).parent

    def replaced(match: re.Match[str]) -> str:
        target, mark, anchor = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        there = in_site(posixpath.normpath((folder / target).as_posix()))
        link = there if there.startswith("https:") else posixpath.relpath(there, here)
        return f"{match[1]}({link}{mark}{anchor})"

    parts = _FENCE.split(text)  # every second one is code, whose brackets are no links
    return "".join(part if number % 2 else _LINK.sub(replaced, part) for number, part in enumerate(parts))


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in ``docs``."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the tests of links do without

    for page, source in other_pages().items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - MkDocs' names
    """The text of a page with the links of the site."""
    return with_links(markdown, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - MkDocs' names
    """The page with the names in docstrings as code: they are written as Sphinx reads them, ``:meth:`insert```."""
    return _ROLE.sub("", html)
