"""Write docs/reference.md and docs/commands.md: every public name, and every command.

They come from the registry, the docstrings and the commands. Run it with `make reference`; a test
compares the pages with what this would write.
"""

from __future__ import annotations

import enum
import inspect
import pydoc
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tamis import _registry as registry
from tamis.cli.main import COMMANDS, LazyGroup
from tamis.cli.options import in_sections
from tamis.engine.common_parameters import CommonParameters

PAGE = Path(__file__).with_name("reference.md")
COMMANDS_PAGE = Path(__file__).with_name("commands.md")
COMMANDS_OPENING = """# Commands

Every command of `tamis`. `make reference` writes this page from the commands themselves;
each command shows its part with `--help`. Exit codes, and what `--json` prints:
[for programs](programs.md).
"""
OPENING = """# Python reference

Every public name. `make reference` writes this page from the docstrings, which `help(tamis.SAOLA)`
shows in Python. Which method to use: [choose a method](choose-a-method.md).
"""
COMMON = """## Every method for columns

**Parameters**, besides those of the method:
"""
COMMON_METHODS = """
**Methods**: `fit`, `fit_transform`, `transform`, `inverse_transform`, `get_support` and
`get_feature_names_out` are those of a scikit-learn selector, `get_params`, `set_params`,
`set_output`, `set_fit_request` and `get_metadata_routing` those of an estimator. Besides:

- `why(feature)`: a sentence that explains what happened to a feature.
- `plot()`: a picture of the fit.
- `start(y)`, `feed(X)`, `finish()`: methods for feature streams take columns in several parts.
- `paper()`: a class method, an estimator with the settings of the paper, if there is one.
"""
#: A longer signature is printed on several lines.
LINE = 80
#: What the section of a method says about the section above.
OTHERS = "- and the parameters of [every method for columns](#every-method-for-columns)"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
#: What is not a name of `tamis` itself: titles, what is said below, and the names in each package.
PACKAGES = {
    "Encoders": (
        '`encode=` takes one of these, or a name such as `"mdlp"` or `"equal-width"`. Each is also '
        "a step for pipelines.",
        {"encode": ["MDLP", "EqualFrequency", "EqualWidth", "KMeansBins", "Plain"]},
    ),
    "Comparisons": (
        "[Compare methods](compare.md) explains the protocol, [Sieve](sieve.md#how-many-features) "
        "the size path.",
        {
            "evaluate": [
                *("compare", "Results", "open_results", "size_path", "SizePath", "open_path"),
                *("over_time", "over_orders", "over_thresholds", "Curves", "open_curves"),
            ]
        },
    ),
    "Classes of your own": (
        "For [a selector](add-a-selector.md), [a measure](add-a-measure.md) or "
        "[a source](add-a-source.md) of your own.",
        {
            "checks": ["check", "checks_of"],
            "estimators": ["estimator_of"],
            "methods": [
                *("Rule", "MeasuredRule", "ScoredRule", "CandidateRule", "TableRule"),
                *("param", "Number", "OneOf", "Reason", "Arrival", "Kept"),
                *("Candidates", "Table", "Found"),
            ],
            "measures": ["Measure", "PairMeasure", "Panel", "Strength"],
            "sources": [
                *("Source", "ColumnSource", "RowSource", "SourceInfo", "MemorySource"),
                *("ColumnBlock", "RowBlock", "Compressed", "Names"),
            ],
        },
    ),
}
#: The package of a name that is not one of `tamis` itself.
PACKAGE_OF = {
    name: package
    for _, packages in PACKAGES.values()
    for package, names in packages.items()
    for name in names
}
SHOWN = [
    *("Parameters", "Attributes", "Returns", "Yields", "Raises"),
    *("Notes", "References", "Examples"),
]


def groups() -> dict[str, list[str]]:
    """Return the titles of the page and the public names below each, from the registry."""
    titles = {"streaming": "Feature streams", "batch": "Batch methods", "online": "Online learners"}
    found: dict[str, list[str]] = {"Functions": [n for n in registry.PUBLIC if n.islower()]}
    for entry in (*registry.METHODS.values(), *registry.LEARNERS.values()):
        found.setdefault(titles[entry.role], []).append(entry.class_name)
    regressors = [entry.regressor for entry in registry.LEARNERS.values() if entry.regressor]
    found["Online learners of numbers"] = regressors
    found["Measures"] = [where.partition(":")[2] for where in registry.MEASURES.values()]
    named = {name for names in found.values() for name in names}
    found["Results and errors"] = [name for name in registry.PUBLIC if name not in named]
    for title, (_, packages) in PACKAGES.items():
        found[title] = [name for names in packages.values() for name in names]
    return found


def full(name: str) -> str:
    """Return the name with its package, as in `tamis.SAOLA` or `tamis.evaluate.compare`."""
    return ".".join(filter(None, ("tamis", PACKAGE_OF.get(name), name)))


def signature(name: str, thing: Any) -> str:
    """Return how something is called, with defaults and without types; the members of an enum."""
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        return "\n".join(f"{full(name)}.{one.name} = {one.value!r}" for one in thing)
    called = inspect.signature(thing)
    bare = [p.replace(annotation=p.empty) for p in called.parameters.values()]
    shown = str(called.replace(parameters=bare, return_annotation=called.empty))
    for pattern, plain in (
        (r"<function (\w+) at 0x\w+>", r"\1"),
        (r"(\w+)\([^()]*<.*?>.*\)(?=,)", r"\1()"),
        ("<factory>", "{}"),
    ):
        shown = re.sub(pattern, plain, shown)
    line = f"{full(name)}{shown}"
    if len(line) <= LINE:
        return line
    params = re.split(r", (?=[^()]*(?:\([^()]*\)[^()]*)*$)", shown[1:-1])
    body = textwrap.fill(", ".join(p.replace(" ", "\0") for p in params), LINE - 4)
    return f"{full(name)}(\n{textwrap.indent(body, '    ')}\n)".replace("\0", " ")


def entries(text: str) -> Iterator[str]:
    """Yield the entries of a numpydoc section as items of a list."""
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        meaning = " ".join(body.split())
        yield f"- `{names}`{f' ({kind})' if kind else ''}{f': {meaning}' if meaning else ''}"


def methods(kind: type) -> Iterator[str]:
    """Yield the public methods and properties of a class, each with its first line."""
    for name, member in sorted(vars(kind).items()):
        text = (
            inspect.getdoc(member)
            if callable(getattr(kind, name)) or inspect.isdatadescriptor(member)
            else ""
        )
        if text and not name.startswith("_"):
            first = text.split("\n\n")[0]
            yield f"- `{name}`: " + " ".join(first.split()).replace("``", "`")


def described(name: str) -> Iterator[str]:
    """Yield the lines about one public name."""
    thing = pydoc.locate(full(name))
    text, *sections = SECTION.split(inspect.getdoc(thing) or "")
    yield f"### {name}\n"
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        yield f"```text\n{signature(name, thing)}\n```\n"
    yield text.partition(">>>")[0].strip().replace("``", "`") + "\n"
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title in SHOWN:
            yield f"**{title}**\n"
            if title == "Examples":
                yield f"```pycon\n{body.strip()}\n```\n"
                continue
            plain = title in ("Notes", "References")
            items = [entry for entry in entries(body) if not is_common(name, entry)]
            if title == "Parameters" and is_for_columns(name):
                items.append(OTHERS)
            yield (body.strip() if plain else "\n".join(items)).replace("``", "`") + "\n"
    is_own = PACKAGE_OF.get(name) in ("evaluate", "methods", "measures", "sources")
    is_shown = name in ("DecisionLog", "Run", "Selection") or (is_own and inspect.isclass(thing))
    if is_shown and (found := "\n".join(methods(thing))):
        yield f"**Methods and properties**\n\n{found}\n"


def is_common(name: str, entry: str) -> bool:
    """Return whether an entry describes a parameter that every method for columns has."""
    return is_for_columns(name) and entry.split("`")[1] in CommonParameters.parameter_names


def is_for_columns(name: str) -> bool:
    """Return whether a public name is a method for columns."""
    return name in {method.class_name for method in registry.METHODS.values()}


def common() -> str:
    """Return what is said once about all methods for columns."""
    body = SECTION.split(inspect.getdoc(CommonParameters) or "")[2]
    return "\n".join([COMMON, *entries(body), COMMON_METHODS]).replace("``", "`")


def page() -> str:
    """Return the whole page."""
    lines = [OPENING]
    for title, names in groups().items():
        if title == "Feature streams":
            lines.append(common())
        lines.append(f"## {title}\n")
        if title in PACKAGES:
            lines.append(PACKAGES[title][0] + "\n")
        for name in names:
            lines += described(name)
    return "\n".join(lines)


def command_help(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help: text as it is, verbatim ones as blocks."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            title, *lines = paragraph.removeprefix("\b").strip().splitlines()
            yield f"{title}\n\n```\n{textwrap.dedent(chr(10).join(lines))}\n```\n"
        else:
            yield paragraph + "\n"


def commands_page() -> str:
    """Return the page of the command line."""
    lines, group = [COMMANDS_OPENING], LazyGroup("tamis")
    lines.append("| command | what it does |\n|---|---|")
    lines += [
        f"| [`tamis {name}`](#tamis-{name}) | {text} |" for name, (_, text) in COMMANDS.items()
    ]
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        context = click.Context(command, info_name=f"tamis {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        lines.append(f"\n## tamis {name}\n\n```text\ntamis {name} {usage}\n```\n")
        lines += command_help(command)
        for title, options in in_sections(command.params).items():
            lines.append(f"**{title}**\n")
            records = (option.get_help_record(context) for option in options)
            lines += [f"- `{option}`: {text}" for option, text in filter(None, records)]
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    COMMANDS_PAGE.write_text(commands_page())
