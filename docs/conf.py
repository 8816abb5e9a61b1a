"""The documentation site: `make docs` builds it from these pages and the `examples/`, offline.

Pages are Markdown that reads well without the site. The build adds the gallery, the search, a page
for every public name, and a plain Markdown copy of every page beside it, listed in `llms.txt`.
"""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from sphinx_gallery.sorting import ExplicitOrder

from tamis import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCE = ROOT / "build" / "docs" / "source"
#: Examples run here, and leave their files here.
EXAMPLES = ROOT / "build" / "docs" / "examples"
#: Files beside docs/ that are pages of the site.
ALSO = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security"}
#: Pages of the user guide and the other parts of the site, in the order of the menu.
PARTS = ("guide", "choosing", "api", "background", "project")
MULTI = re.MULTILINE | re.DOTALL


def reference_pages(text: str) -> dict[str, str]:
    """Return the reference as one page for every public name, and a page that lists them."""
    opening, *groups = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    pages, index, tree = {}, [opening], []
    for title, group in zip(groups[::2], groups[1::2], strict=True):
        general, *entries = re.split(r"^### (\w+)\n", group, flags=re.MULTILINE)
        index.append(f"## {title}\n{general}")
        if entries:
            index.append("| name | |\n|---|---|")
        for name, body in zip(entries[::2], entries[1::2], strict=True):
            plain = re.sub(r"```.*?```", "", body, flags=re.DOTALL).strip()
            summary = " ".join(plain.split("\n\n")[0].split())
            index.append(f"| [`{name}`](api/{name}.md) | {summary} |")
            body = body.replace("](#every-method", "](../reference.md#every-method")
            pages[f"api/{name}.md"] = f"# {name}\n{body}"
            tree.append(f"api/{name}")
        index.append("")
    index.append("```{toctree}\n:hidden:\n\n" + "\n".join(tree) + "\n```\n")
    return {"reference.md": "\n".join(index), **pages}


def stage() -> None:
    """Copy what is new to the folder that Sphinx reads, so that docs/ holds sources only."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.*st")}
    pages |= {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.md")}
    for file, name in ALSO.items():
        pages[f"{name}.md"] = (ROOT / file).read_text(encoding="utf-8")
    pages |= reference_pages(pages["reference.md"])
    session = re.search(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), MULTI)
    pages["session.txt"] = session[1] if session else ""  # what the first page shows
    (SOURCE / "api").mkdir(exist_ok=True)
    for path in [*SOURCE.glob("*.*"), *SOURCE.glob("api/*.md")]:
        if path.relative_to(SOURCE).as_posix() not in pages:
            path.unlink()
    for name, text in pages.items():
        target = SOURCE / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
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

#: Examples in the order of the gallery: first steps, data, decisions, other programs.
ORDER = (
    *("digits", "messy_table", "microarray", "text", "daily_tables", "proposals", "drift"),
    *("compare", "stability", "column_limit", "anndata", "plink", "pgen", "own_selector"),
    *("pipelines", "persistence", "mlflow", "feast"),
)

sphinx_gallery_conf = {
    "within_subsection_order": ExplicitOrder([f"plot_{name}.py" for name in ORDER]),
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
    source[0] = text if docname.startswith("gallery/") else link_names(docname, text)


#: What stays as it is when names are linked: blocks of code, headings and other links.
VERBATIM = re.compile(r"(^```.*?^```|^#.*?$|\[[^\]]*\]\([^)]*\))", MULTI)


def link_names(docname: str, text: str) -> str:
    """Link the first mention of every public name on a page to the page about it."""
    public = {path.stem for path in (SOURCE / "api").glob("*.md")} - {Path(docname).name}
    up = "../" * docname.count("/")

    def linked(match: re.Match[str]) -> str:
        name = match[1]  # `select` is a command, `tamis.select` a function
        if name not in public or (name.islower() and not match[0].startswith("`tamis.")):
            return match[0]
        public.discard(name)
        return f"[{match[0]}]({up}api/{name}.md)"

    parts = VERBATIM.split(text)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"`(?:tamis\.(?:\w+\.)?)?([A-Za-z]\w+)(?:\([^`]*)?`", linked, parts[k])
    return "".join(parts)


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


def described(text: str) -> tuple[str, str]:
    """Return the title of a page and its first sentence."""
    title, _, body = text.partition("\n")
    body = re.sub(r"^```.*?^```$", "", body, flags=MULTI)
    first = next((p for p in body.split("\n\n") if re.match(r"\s*[\w*`]", p)), "")
    plain = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", " ".join(first.split())).replace("**", "")
    sentence = re.split(r"(?<=[.?])\s", plain)[0].rstrip(".:?")
    return title.lstrip("# "), f"{sentence}."


def write_plain_pages(app: Sphinx, error: Exception | None) -> None:
    """Put every page beside its HTML as plain Markdown, and list them in llms.txt."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    shutil.copytree(HERE / "images", out / "images", dirs_exist_ok=True)
    lines = []

    def listed(name: str) -> None:
        page = SOURCE / f"{name}.md"
        if page.exists():
            text = re.sub(r"```\{toctree\}.*?```\n", "", page.read_text("utf-8"), flags=re.DOTALL)
        else:
            text = as_markdown(ROOT / "examples" / f"{Path(name).name}.py")
        target = out / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        title, sentence = described(text)
        lines.append(f"- [{title}]({name}.md): {sentence}")

    includes = app.env.toctree_includes
    listed("start")
    for part in (*PARTS[:1], "gallery/index", *PARTS[1:]):
        title = app.env.titles[part].astext()
        lines.append(f"\n## {title}\n")
        for name in includes[part]:
            listed(name)
        if part == "api":
            lines.append("\n## Every public name\n")
            for name in includes["reference"]:
                listed(name)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    intro = " ".join(text.split("\n\n")[2].split())
    whole = f"# tamis\n\n> {intro}\n\n## Start\n\n" + "\n".join(lines) + "\n"
    (out / "llms.txt").write_text(whole, encoding="utf-8")


def mark_options(app: Sphinx, doctree: nodes.document) -> None:
    """Give names of options a class of their own: a phone must not break them after "--"."""
    for literal in doctree.findall(nodes.literal):
        if any(word.startswith("--") for word in literal.astext().split()):
            literal["classes"].append("option")


def keep_options_whole(app: Sphinx, page: str, template: str, context: Any, tree: Any) -> None:
    """Keep a phone from breaking an option after "--" where it wraps a command and its output."""

    def whole(block: re.Match[str]) -> str:
        return re.sub(r"(?<![\w-])--[a-z][\w-]*", r'<span class="option">\g<0></span>', block[0])

    if "body" in context:
        pattern = r'<div class="highlight-console .*?</pre>'
        context["body"] = re.sub(pattern, whole, context["body"], flags=re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the steps above."""
    app.connect("source-read", link_pages)
    app.connect("doctree-read", mark_options)
    app.connect("html-page-context", keep_options_whole)
    app.connect("build-finished", write_plain_pages)
    return {"parallel_read_safe": True}
