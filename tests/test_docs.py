"""Every snippet in the README and the docs is run, and prints the output shown."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import inspect
import os
import re
import shlex
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import click
import pytest

from command_line import CommandLine, Outcome
from tamis.cli.main import COMMANDS, LazyGroup

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
OPTIONS = doctest.ELLIPSIS
#: Pages that show what another package says or computes: since which version it does.
SHOWN_SINCE = {"text.md": ("numpy", 2, 0), "instance-streams.md": ("river", 0, 23)}
CONTEXT = click.Context(LazyGroup())


def blocks(page: Path, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for name, text in fences if name == language]


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # the examples run in the root of the project
    return tmp_path


@pytest.fixture
def tamis(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(capsys, monkeypatch)


@pytest.mark.usefixtures("shared_comparers")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_snippets_print_the_output_shown(
    page: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, *since = SHOWN_SINCE.get(page.name, ("tamis",))
    here = importlib.metadata.version(package)
    if [int(part) for part in here.split(".")[:2]] < since:
        pytest.skip(f"the page shows the results of a newer {package} than {here}")
    text = "\n".join(b for b in blocks(page, "python") if ">>>" in b)
    # A separate module, so that classes defined in a page can be pickled.
    module = types.ModuleType(f"snippets_of_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    test.globs = module.__dict__
    messages: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(test, out=messages.append, clear_globs=False)
    assert not messages, "".join(messages)


def console_sessions() -> list[tuple[str, str]]:
    return [(p.name, block) for p in PAGES for block in blocks(p, "console")]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("page", "session"), console_sessions())
def test_commands_print_the_output_shown(
    page: str, session: str, in_tmp: Path, tamis: CommandLine
) -> None:
    steps = re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    assert steps, f"{page}: a console block without a command"
    for step in steps:
        command, _, expected = step.partition("\n")
        done = printed_by_a_shell(command) if page == "README.md" else printed(command, tamis)
        assert done.code == 0, f"{command}\n{done.err}"
        matches = doctest.OutputChecker().check_output(expected, done.out, OPTIONS)
        assert matches, f"$ {command}\n{done.out}\ninstead of\n{expected}"


def printed_by_a_shell(command: str) -> Outcome:
    scripts = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=env, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def printed(command: str, tamis: CommandLine) -> Outcome:
    """What a command prints; tamis and Python are run in this process, which has them ready."""
    words = shlex.split(command)
    if "|" in words or words[0] not in ("tamis", "python"):
        return printed_by_a_shell(command)
    if words[0] == "tamis":
        return tamis(*words[1:])
    assert words[1] == "-c"
    exec(words[2], {})
    return Outcome(0, "", "")


def commands_shown() -> list[tuple[str, str]]:
    """Return the commands in the pages that are not run, and those in help texts."""
    found = []
    for page in PAGES:
        plain = "".join(blocks(page, "")).replace("\\\n", "").splitlines()
        inline = re.findall(r"`(tamis [^`\n]+)`", page.read_text())
        found += [(page.name, line) for line in (*plain, *inline) if line.startswith("tamis ")]
    for name in COMMANDS:
        shown = (LazyGroup().get_command(CONTEXT, name).help or "").replace("\\\n", "")
        lines = [line.strip() for line in shown.splitlines()]
        found += [(name, line) for line in lines if line.startswith(f"tamis {name} ")]
    return found


def test_commands_in_the_pages_use_existing_options() -> None:
    shown = commands_shown()
    for where, line in shown:
        name, *words = shlex.split(line, comments=True)[1:]
        if name == "--version":
            continue
        assert name in COMMANDS, f"{where}: {line}"
        params = LazyGroup().get_command(CONTEXT, name).params
        known = {option for param in params for option in (*param.opts, *param.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= known | {"--help"}, f"{where}: {line}"
    assert len(shown) > 50


def test_code_quoted_from_the_source_matches_it() -> None:
    shown = 0
    for page in PAGES:
        found = re.findall(
            r"<!-- class: ([\w.]+) -->\n```python\n(.*?)```", page.read_text(), re.DOTALL
        )
        for where, code in found:
            module, cls, method = where.rsplit(".", 2)
            real = getattr(getattr(importlib.import_module(module), cls), method)
            assert code == textwrap.dedent(inspect.getsource(real)), f"{page.name}: {where}"
            shown += 1
    assert shown, "docs/add-a-selector.md shows a real class"


def test_links_between_pages_resolve() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def sections(page: Path) -> dict[str, str]:
    """Return the text under each heading, by its anchor; no two may have the same one.

    The reference has a function and a class of one name: the second anchor ends in -1.
    """
    parts = re.split(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)[1:]
    names = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in parts[::2]]
    if page.name == "reference.md":
        names = [f"{n}-{k}" if (k := names[:j].count(n)) else n for j, n in enumerate(names)]
    assert len(set(names)) == len(names), f"{page.name}: two headings with the same name"
    return dict(zip(names, parts[1::2], strict=True))


def numbers(text: str) -> set[str]:
    """Return every number in a text, without commas; digits inside a word (news20) do not count."""
    found = re.findall(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])", text)
    return {number.replace(",", "") for number in found}


def links_to_sections() -> list[tuple[Path, str, Path, str]]:
    link = re.compile(r"\[([^]]+)\]\(([\w./-]*)#([^)]+)\)")
    return [
        (page, text, page.parent / target if target else page, name)
        for page in PAGES
        for text, target, name in link.findall(page.read_text())
    ]


def test_links_to_sections_resolve() -> None:
    for page, _, target, name in links_to_sections():
        assert name in sections(target), f"{page.name} links to {target.name}#{name}"


def test_measured_numbers_are_in_the_tables_they_link_to() -> None:
    compared = 0
    for page, text, target, name in links_to_sections():
        if page.name == "measured.md":
            missing = numbers(text) - numbers(sections(target)[name])
            assert not missing, f"[{text}]: {target.name}#{name} has no {missing}"
            compared += len(numbers(text))
    assert compared > 50


def test_every_method_has_its_measurements() -> None:
    from tamis.methods import BY_METHOD

    chosen = (ROOT / "docs" / "measured.md").read_text()
    learners = set(re.findall(r"`(SOFS|PET|FOFS|OGD|AROW|MergedSOFS)`", chosen))
    assert learners == {"SOFS", "PET", "FOFS", "OGD", "AROW", "MergedSOFS"}
    for kind in BY_METHOD.values():
        assert f"`{kind.public_name}`" in chosen, f"{kind.public_name} is missing"


#: Folders that commands write: mentioned in the pages, but not in the repository.
WRITTEN = {"cells/", "results/", "run/", "state/"}


def paths_mentioned() -> list[tuple[str, str]]:
    """Return every `module.py` with a folder, and every `folder/`, that a page has in backticks."""
    path = re.compile(r"`([\w.-]+/(?:[\w.-]+/)*(?:[\w.-]+\.py)?)`")
    return [
        (page.name, found)
        for page in PAGES
        for found in path.findall(page.read_text())
        if found not in WRITTEN
    ]


def test_paths_in_the_pages_exist() -> None:
    mentioned = paths_mentioned()
    missing = [
        f"{page}: {path}"
        for page, path in mentioned
        if not any((root / path).exists() for root in (ROOT, ROOT / "src" / "tamis"))
    ]
    assert not missing, "\n".join(missing)
    assert len(mentioned) > 20


def test_walks_name_functions_that_exist() -> None:
    """Lines of the diagrams in how-it-works.md are a module, a function or class, and a comment."""
    walks = "".join(blocks(ROOT / "docs" / "how-it-works.md", ""))
    steps = re.findall(r"^ *(\S+\.py) +([\w.]+)", walks, re.MULTILINE)
    for path, name in steps:
        source = (ROOT / "src" / "tamis" / path).read_text()
        for part in name.split("."):
            assert re.search(rf"\b(def|class) {part}\b", source), f"{path} has no {part}"
    assert len(steps) > 40


def test_dotted_names_in_the_pages_exist() -> None:
    # Lower case after the dot, or a class: `tamis.NAME` stands for any name.
    name = re.compile(r"`(tamis(?:\.(?![A-Z]+[`(])\w+)+)[`(]")
    mentioned = {(page.name, n) for page in PAGES for n in name.findall(page.read_text())}
    for page, dotted in sorted(mentioned):
        found = resolve(dotted)
        assert found is not None, f"{page}: {dotted} does not exist"
    assert len(mentioned) > 10


def resolve(dotted: str) -> object:
    """Return the module, class or attribute of a dotted name, or None."""
    module, *rest = dotted.split(".")
    found: object = importlib.import_module(module)
    for part in rest:
        try:
            found = getattr(found, part)
        except AttributeError:
            if not isinstance(found, types.ModuleType):
                return None
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
    return found


def test_every_page_is_linked() -> None:
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+\.md)", page.read_text()):
            if (page.parent / target).resolve() != page:
                linked.add((page.parent / target).resolve())
    assert set(PAGES[2:]) <= linked, f"no page links to {set(PAGES[2:]) - linked}"
