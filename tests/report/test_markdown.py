"""The Markdown page: what a run did, and nothing in a name that could break the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tamis import SAOLA
from tamis.core.errors import OutputError
from tamis.core.names import Names
from tamis.engine.record import open_run, save_run
from tamis.engine.select import select
from tamis.report.markdown import MOST, cell, code, write_markdown
from tamis.sources.memory import MemorySource


def a_run(n_columns=40, names=None, classes=(0, 1), **options):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = rng.integers(0, 2, (300, n_columns)).astype(float)
    X[:, 5] = np.where(rng.random(300) < 0.5, y, X[:, 5])
    X[:, 6] = np.where(rng.random(300) < 0.3, X[:, 6], X[:, 5])
    X[:, 9] = np.where(rng.random(300) < 0.5, y, X[:, 5])
    packed = None if names is None else Names.of(names)
    source = MemorySource(X, np.array(classes)[y], names=packed)
    return select(source, SAOLA(**options), command="tamis test")


def page(tmp_path, runs, **options):
    path = write_markdown(runs, tmp_path / "r.md", "A title", **options)
    assert path == tmp_path / "r.md"
    return path.read_text(encoding="utf-8")


def test_a_page_has_a_title_an_intro_and_a_section_for_each_run(tmp_path):
    text = page(tmp_path, {"One": a_run(), "Two": a_run()}, intro="Some words.")
    assert text.startswith("# A title\n\nSome words.\n")
    assert re.findall(r"(?m)^## (.*)$", text) == ["One", "Two"]


def test_a_section_says_what_was_kept_why_others_went_and_at_what_cost(tmp_path):
    run = a_run()
    text = page(tmp_path, {"One": run})
    assert "300 rows, 40 features; 2 classes: 0 (" in text
    for word, number in run.log.counts().items():
        assert f"| {word} | {number} |" in text
    for row in run.kept():
        assert f"| {row['name']} | {row['relevance']:.4g} |" in text
    assert "Why some others went:\n\n- x6 was dropped as redundant: " in text
    assert "\n- x5 was kept until x9 arrived" in text
    assert f"{run.work['pair_values']:,} pair values" in text
    assert run.source["fingerprint"] in text
    assert text.rstrip().endswith("To reproduce: `tamis test`")


def test_kept_features_stand_by_relevance(tmp_path):
    run = a_run(measure="mutual_information")  # threshold 0 keeps many
    table = page(tmp_path, {"One": run}).partition("| feature | relevance |")[2]
    numbers = [float(n) for n in re.findall(r"(?m)^\| x\d+ \| (\S+) \|$", table)]
    assert len(numbers) > 3
    assert numbers == sorted(numbers, reverse=True)


def test_a_long_list_is_cut_and_says_so(tmp_path):
    run = a_run(400, measure="mutual_information", bound="max")
    kept = len(run.kept())
    assert kept > MOST
    text = page(tmp_path, {"One": run})
    assert f"Kept, by relevance (the first {MOST} of {kept}):" in text
    assert len(re.findall(r"(?m)^\| x\d+ \|", text)) == MOST


def test_nothing_kept_is_said_and_no_reason_is_announced(tmp_path):
    rng = np.random.default_rng(0)
    run = select(rng.normal(size=(50, 3)), "saola", np.arange(50) % 2)
    assert run.kept() == []
    text = page(tmp_path, {"One": run})
    assert "No feature was kept." in text
    assert "| feature | relevance |" not in text
    assert "Why some others went" not in text
    assert "To reproduce" not in text


def test_a_run_read_from_a_folder_gives_the_same_page(tmp_path):
    run = a_run()
    again = open_run(save_run(run, tmp_path / "run"))
    assert page(tmp_path, {"One": run}) == page(tmp_path, {"One": again})


ODD = ["<script>alert(1)</script>", "a|b", "two\nlines\r\n", "*bold* _it_ `code`", "[l](http://x)"]


def test_names_classes_and_commands_stay_text(tmp_path):
    names = [f"{ODD[k % 5]} {k}" for k in range(40)]
    run = a_run(names=names, classes=ODD[:2], measure="mutual_information")
    run.command = "tamis `rm -rf`\n# a heading"
    run.measure_reason = "column <img> is\nodd"
    text = page(tmp_path, {"<b>One|\n# Two": run})
    assert "<script" not in text
    assert "<img" not in text
    assert "<b>" not in text
    assert re.findall(r"(?m)^#.*$", text) == ["# A title", "## &lt;b&gt;One&#124; # Two"]
    rows = re.findall(r"(?m)^\|.*$", text.partition("| feature | relevance |")[2])
    assert {row.count("|") for row in rows} == {3}
    assert "To reproduce: `` tamis `rm -rf` # a heading ``" in text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain text, 0.5 (x)", "plain text, 0.5 (x)"),
        ("mean_radius", "mean_radius"),
        ("_private_", r"\_private\_"),
        ("__init__", r"\__init_\_"),
        ("a*b", r"a\*b"),
        ("`x`", r"\`x\`"),
        ("[x](y)", r"\[x\](y)"),
        ("~~x~~", r"\~\~x\~\~"),
        ("back\\slash", r"back\\slash"),
        ("&lt;", "&amp;lt;"),
        ("a\u2028b\rc\n", "a b c"),
        ("🧬", "🧬"),
    ],
)
def test_a_cell_is_text(raw, safe):
    assert cell(raw) == safe


@pytest.mark.parametrize(
    ("raw", "safe"),
    [("plain", "`plain`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("a\nb", "`a b`")],
)
def test_code_has_more_backticks_around_than_inside(raw, safe):
    assert code(raw) == safe


def test_a_page_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "r.md").mkdir()
    with pytest.raises(OutputError, match=r"r\.md cannot be written \(Is a directory\)$"):
        page(tmp_path, {})
