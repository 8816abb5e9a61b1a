"""The page about a size path: how many features are enough, and which ones."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sample_pages import ODD
from sklearn.datasets import load_wine

from tamis import MRMR
from tamis.core.errors import OutputError, SourceError
from tamis.evaluate import SizePath, open_path, size_path
from tamis.report.folder_page import page_of_folder, write_page
from tamis.report.html_page import as_html
from tamis.report.markdown_page import as_markdown
from tamis.report.page import Lines
from tamis.report.path_page import page_of_sizes


@pytest.fixture(scope="module")
def path():
    return size_path(*load_wine(return_X_y=True), MRMR(n_features=8), sizes=[1, 2, 4, 8])


def section(page, title):
    return next(s for s in page.sections if s.title == title)


def test_the_page_shows_the_score_of_each_size_and_what_it_adds(path, tmp_path):
    page = page_of_folder(path.save(tmp_path / "path"))
    assert page.summary == path.sentence
    table = section(page, "Sizes")
    assert [row[0] for row in table.rows] == [1, 2, 4, 8]
    assert [row[1] for row in table.rows] == path.mean.tolist()
    assert table.rows[2][3] == ", ".join(path.ranking[2:4])
    curve = next(s for s in page.sections if isinstance(s, Lines))
    assert curve.x == path.sizes
    assert np.allclose(np.subtract(curve.high, curve.low), 2 * path.std_error)
    assert [row[0] for row in section(page, "Ranking").rows] == path.ranking
    assert as_html(page).startswith("<!doctype html>")
    assert f"| 4 | {path.mean[2]:.4f} |" in as_markdown(page)


def test_a_saved_path_is_the_same(path, tmp_path):
    folder = path.save(tmp_path / "path")
    back = open_path(folder)
    assert (back.sizes, back.ranking, back.scoring) == (path.sizes, path.ranking, path.scoring)
    assert np.array_equal(back.scores, path.scores)
    with pytest.raises(OutputError, match="exists"):
        path.save(folder)
    path.save(folder, force=True)


def test_a_damaged_path_is_refused_in_one_sentence(path, tmp_path):
    folder = path.save(tmp_path / "path")
    file = folder / "path.json"
    good = json.loads(file.read_text())
    for spoilt in ({**good, "sizes": [1]}, {**good, "scores": "x"}, {"format_version": 1}, []):
        file.write_text(json.dumps(spoilt))
        with pytest.raises(SourceError, match="is damaged"):
            page_of_folder(folder)
    file.write_text(json.dumps({**good, "format_version": 9}))
    with pytest.raises(SourceError, match="written in format 9"):
        open_path(folder)
    with pytest.raises(SourceError, match="holds no path"):
        open_path(tmp_path)


def test_one_fold_has_no_standard_error_and_names_stay_text(tmp_path):
    names = [f"{name}{k}" for k, name in enumerate(ODD)]
    path = SizePath([1, 4], np.array([[0.5, 0.75]]), names, "accuracy")
    assert (path.enough, path.best) == (4, 4)
    text = as_html(page_of_sizes(path))
    assert "<script>alert" not in text
    assert write_page(page_of_folder(path.save(tmp_path / "p")), tmp_path / "p.html").exists()


def test_the_sentence_names_enough_and_best():
    scores = np.array([[0.70, 0.90, 0.91], [0.72, 0.94, 0.95]])
    path = SizePath([1, 5, 20], scores, [f"x{k}" for k in range(20)], "accuracy")
    assert path.sentence == (
        "5 features are enough: accuracy 0.920 on rows that the selection did not see, within one "
        "standard error of the best, 0.930 with 20."
    )
    html = path._repr_html_()
    assert "x1, x2, x3 and 1 more" in html
    assert "0.920" in html
