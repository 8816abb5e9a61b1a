"""The Markdown page: what a run did, and nothing in a name that could break the page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sample_pages import a_run, an_odd_run

from tamis.core.errors import OutputError
from tamis.core.markup import cell, code
from tamis.engine.runs import open_run, save_run
from tamis.engine.selecting import select
from tamis.report.folder_page import write_page
from tamis.report.markdown_page import MOST, as_markdown
from tamis.report.run_page import page_of_run


def text_of(run):
    return as_markdown(page_of_run(run, "run"))


def part(text, title):
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_a_page_shows_what_was_kept_why_the_rest_was_dropped_and_the_cost():
    run = a_run()
    text = text_of(run)
    counts = run.log.counts()
    assert text.startswith("# tamis: memory data\n\nsaola kept ")
    for row in run.kept_rows():
        assert f"| {row['name']} | {row['relevance']:.4g} |" in part(text, "Kept features")
    assert f"| redundant | {counts['redundant']} |" in part(text, "Where features went")
    sentences = part(text, "Why a feature was kept or dropped")
    assert "- x6 was dropped as redundant: " in sentences
    assert "- x5 was kept until x9 arrived" in sentences
    assert "`tamis why run FEATURE`" in sentences
    assert f"| pair values | {run.work['pair_values']:,} |" in text
    assert run.source["fingerprint"] in text
    assert "```\ntamis test\n" in part(text, "How to reproduce")


def test_kept_features_are_sorted_by_relevance():
    run = a_run(measure="mutual_information")  # threshold 0 keeps many
    table = part(text_of(run), "Kept features")
    numbers = [float(n) for n in re.findall(r"(?m)^\| x\d+ \| (\S+) \|", table)]
    assert len(numbers) > 3
    assert numbers == sorted(numbers, reverse=True)


def test_a_long_list_is_truncated_with_a_note():
    run = a_run(400, measure="mutual_information", bound="max")
    kept = len(run.kept_rows())
    assert kept > MOST
    table = part(text_of(run), "Kept features")
    assert f"The first {MOST} of {kept}." in table
    assert len(re.findall(r"(?m)^\| x\d+ \|", table)) == MOST


def test_a_curve_is_described_by_its_start_and_end():
    run = a_run(400)
    rows = re.findall(r"(?m)^\| (\d+) \|", part(text_of(run), "Over the stream"))
    assert len(rows) == MOST
    assert (rows[0], rows[-1]) == ("0", "400")


def test_an_empty_kept_set_is_reported():
    rng = np.random.default_rng(0)
    run = select(rng.normal(size=(50, 3)), "saola", np.arange(50) % 2)
    assert run.kept_rows() == []
    text = text_of(run)
    assert "None." in part(text, "Kept features")
    assert "made in Python" in part(text, "How to reproduce")


def test_a_run_read_from_a_folder_gives_the_same_page(tmp_path):
    run = a_run()
    assert text_of(run) == text_of(open_run(save_run(run, tmp_path / "run")))


def test_names_classes_and_commands_stay_text():
    text = text_of(an_odd_run())
    before_code = text.partition("## How to reproduce")[0]
    assert not re.search(r"<(script|img|b|!)", before_code)
    headings = re.findall(r"(?m)^#.*$", before_code)
    assert all(h.startswith(("# tamis: ", "## ")) for h in headings)
    rows = re.findall(r"(?m)^\|.*$", part(text, "Kept features"))
    assert len(rows) > 5
    assert {row.count("|") for row in rows} == {5}


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
def test_code_is_quoted_with_more_backticks_than_it_contains(raw, safe):
    assert code(raw) == safe


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_a_page_that_cannot_be_written_is_reported(tmp_path, form):
    (tmp_path / "r").mkdir()
    with pytest.raises(OutputError, match=r"r cannot be written \(Is a directory\)$"):
        write_page(page_of_run(a_run()), tmp_path / "r", form)
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
