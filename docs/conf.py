"""The documentation site: `make docs` builds it from these pages and the `examples/`, offline.

Pages are Markdown that reads well without the site. The build adds the gallery, the search, and a
plain Markdown copy of every page beside it, listed in `llms.txt`.
"""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tamis import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCE = ROOT / "build" / "docs" / "source"
#: Examples run here, and leave their files here.
EXAMPLES = ROOT / "build" / "docs" / "examples"
#: Files beside docs/ that are pages of the site.
ALSO = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security"}


def stage() -> None:
    """Copy what is new to the folder that Sphinx reads, so that docs/ holds sources only."""
    pages = {path: path.name for path in HERE.glob("*.*") if path.suffix in (".md", ".rst")}
    pages |= {ROOT / file: f"{name}.md" for file, name in ALSO.items()}
    for path in SOURCE.glob("*.*"):
        if path.name not in pages.values():
            path.unlink()
    for path, name in pages.items():
        text, target = path.read_bytes(), SOURCE / name
        if not target.exists() or target.read_bytes() != text:
            target.write_bytes(text)
    shutil.copytree(HERE / "images", SOURCE / "images", dirs_exist_ok=True)
    shutil.rmtree(EXAMPLES, ignore_errors=True)  # with the files that they wrote
    EXAMPLES.mkdir()
    for path in [*(ROOT / "examples").glob("plot_*.py"), ROOT / "examples" / "GALLERY_HEADER.rst"]:
        shutil.copy2(path, EXAMPLES)


def missing_packages() -> list[str]:
    """Return the examples that need a package that is not here; they are shown, but not run."""
    found = []
    for path in sorted(EXAMPLES.glob("plot_*.py")):
        needed = re.search(r"^# Requires: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if needed and not all(find_spec(name) for name in needed[1].split(", ")):
            found.append(path.stem)
    return found


SOURCE.mkdir(parents=True, exist_ok=True)
stage()
project = "tamis"
author = "The tamis developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["**/sg_execution_times.rst", "sg_execution_times.rst"]
suppress_warnings = ["config.cache"]
templates_path: list[str] = []

# Anchors as on GitHub, so that links between pages work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

html_theme = "pydata_sphinx_theme"
html_title = "tamis"
html_static_path = ["_static"]
html_favicon = "_static/sieve.svg"
html_logo = "_static/sieve.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "tamis"},
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_header_start": ["breadcrumbs"],
}
html_sidebars = {"index": [], "start": [], "gallery/index": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/plot_(?!(?:{'|'.join(n[5:] for n in missing_packages()) or '$'})\.py)",
    "ignore_pattern": r"__init__|conftest",
    "download_all_examples": True,
    "remove_config_comments": True,
    "min_reported_time": 1_000,
    "abort_on_example_error": True,
    "show_memory": False,
    "plot_gallery": "True",
    "reset_argv": lambda *_: [],
}


def link_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Point links that leave docs/ to the pages that the site has in their place."""
    text = source[0]
    text = re.sub(r"\]\(docs/([^)]*)\)", r"](\1)", text)  # in CHANGELOG.md and its neighbours
    text = re.sub(r"\]\((?:\.\./)?examples/README\.md\)", "](gallery/index.rst)", text)
    text = re.sub(r"\]\((?:\.\./)?examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    for file, name in ALSO.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(file)}\)", f"]({name}.md)", text)
    source[0] = text


def as_markdown(example: Path) -> str:
    """Return an example as Markdown: its text, and its code in blocks."""
    _, blocks = split_code_and_text_blocks(str(example))
    parts = []
    for kind, content, _ in blocks:
        if kind == "code":
            parts.append(f"```python\n{content.strip()}\n```" if content.strip() else "")
        else:
            text = re.sub(r"^(.+)\n=+\n", r"# \1\n", content.strip() + "\n")
            text = re.sub(r":doc:`(.+?) </(.+?)>`", r"[\1](../\2.md)", text)
            parts.append(text.replace("``", "`").strip())
    return "\n\n".join(part for part in parts if part) + "\n"


def write_plain_pages(app: Sphinx, error: Exception | None) -> None:
    """Put every page beside its HTML as plain Markdown, and list them in llms.txt."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    listed = []
    for name in sorted(app.env.found_docs):
        page = SOURCE / f"{name}.md"
        if page.exists():
            text = page.read_text(encoding="utf-8")
        elif name.startswith("gallery/plot_"):
            text = as_markdown(ROOT / "examples" / f"{Path(name).name}.py")
        else:
            continue
        target = out / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        title, _, body = text.partition("\n")
        first = next((p for p in body.split("\n\n") if re.match(r"\s*[\w*`]", p)), "")
        sentence = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", " ".join(first.split())).split(". ")[0]
        listed.append(f"- [{title.lstrip('# ')}]({name}.md): {sentence.rstrip('.')}.")
    shutil.copytree(HERE / "images", out / "images", dirs_exist_ok=True)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    intro = " ".join(text.split("\n\n")[2].split())
    (out / "llms.txt").write_text(
        f"# tamis\n\n> {intro}\n\n## Pages\n\n" + "\n".join(listed) + "\n", encoding="utf-8"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the steps above."""
    app.connect("source-read", link_pages)
    app.connect("build-finished", write_plain_pages)
    return {"parallel_read_safe": True}
