"""Parameters of a comparison: methods as text, levels, options, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from odd_selectors import BestBy

import tamis
from tamis.core.errors import OutputError, ParameterError, SourceError
from tamis.evaluate import compare, open_results
from tamis.evaluate.cells import select_features
from tamis.evaluate.compared_methods import make, named_method, parse_methods, settle_measure


def test_methods_as_text():
    made = parse_methods("saola, fcbf:threshold=0.01, odd_selectors:BestBy:k=3")
    assert [m.label for m in made] == ["saola", "fcbf:threshold=0.01", "odd_selectors:BestBy:k=3"]
    assert made[1].params == {"threshold": 0.01}
    assert make(made[2], 0).k == 3
    assert made[0].streams
    assert not made[1].streams
    level = named_method("saola:alpha=0.05")
    assert (level.params, level.level) == ({"alpha": 0.05}, {})
    threshold = named_method("saola:threshold=0.05")
    assert (threshold.params, threshold.level) == ({}, {"threshold": 0.05})
    given = named_method("saola:measure=fisher_z:alpha=0.05")
    assert (make(given, 0).measure, make(given, 0).alpha) == ("fisher_z", 0.05)
    instance = parse_methods([tamis.SAOLA(tamis.FisherZ(alpha=0.2), bound="max"), BestBy(2)])
    assert make(instance[0], 0).measure == tamis.FisherZ(alpha=0.2)
    assert make(instance[0], 0).bound == "max"
    assert instance[1].label == "BestBy(k=2)"


def test_cut_points_are_learned_from_the_training_rows(data):
    X, y = data["cancer"]
    method = named_method("fcbf:encode=mdlp")
    got = select_features(method, 0, X[:300], y[:300], (1.0,))["kept"][0]["features"]
    codes = tamis.encode.MDLP().fit(X[:300], y[:300]).transform(X[:300])
    assert got == tamis.FCBF().fit(codes, y[:300]).kept_.tolist()
    assert len(got) > 2  # one, where every number is a category of its own
    assert named_method("fcbf").identity() != method.identity()


def test_a_level_applies_to_the_measure_that_the_data_needs():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    method = named_method("saola:alpha=0.2:threshold=0")
    for X, measure in (
        (rng.normal(size=(60, 3)), tamis.FisherZ(alpha=0.2)),
        (rng.integers(0, 2, (60, 3)), tamis.MutualInformation(threshold=0)),
    ):
        selector = make(method, 0)
        settle_measure(selector, method, X, y)
        assert selector.measure == measure


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "give at least one method"),
        ("saola,saola", "the method saola is given twice"),
        ("soala", "method 'soala' is not known; did you mean 'saola'?"),
        ("saola:bound", "'bound' is not of the form name=value"),
        ("saola:bound=most", "SAOLA: bound='most' is not one of"),
        ("saola:k=3", "saola has no parameter 'k'; it has"),
        ("alpha-investing:alpha=0.1", "alpha-investing has no measure, so it takes no alpha"),
        ("saola:measure=g_squared:threshold=1", "the measure g_squared has no threshold"),
        ("saola:measure=su:alpha=1", "the measure 'su' is not known; give one of"),
        ("odd_selectors:Nobody", "there is no selector odd_selectors:Nobody to import"),
        ("os:path", "os:path is not a selector: it is neither a rule nor"),
        ("fcbf:encode=knife", "knife"),
        ("saola:bound=max:x", "'x' is not of the form name=value"),
    ],
)
def test_text_that_does_not_name_a_method(text, sentence):
    with pytest.raises(ParameterError, match=sentence):
        parse_methods(text)


def test_selectors_that_workers_cannot_make():
    class Local(BestBy):
        """Cannot be imported from elsewhere."""

    with pytest.raises(ParameterError, match=r"^Local is defined in a script or a function"):
        parse_methods([Local()])
    with pytest.raises(ParameterError, match=r"^BestBy: a parameter holds ndarray, and methods"):
        parse_methods([BestBy(np.arange(3))])
    with pytest.raises(ParameterError, match=r"^3 is not a method; give a name such as 'saola'"):
        parse_methods([3])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"control": "fcbf"}, "^the control 'fcbf' is none of the methods; give one of saola$"),
        ({"random_state": -1}, "^compare: random_state=-1 is not a whole number at least 0"),
        ({"n_jobs": 0}, "^compare: n_jobs=0 is not a whole number at least 1 or None"),
        ({"cell_seconds": 0}, "^compare: cell_seconds=0 is not a number above 0 or None"),
        ({"paired": "z"}, "^compare: paired='z' is not one of"),
        ({"shares": (0.5,)}, "^compare: give increasing shares that end with 1"),
        ({"cv": "ten"}, "^cv='ten' is not of the form"),
    ],
)
def test_invalid_options(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        compare({"d": (np.eye(4), [0, 1, 0, 1])}, "saola", "knn", **options)


def test_folders_that_do_not_hold_results(tmp_path, plain):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="exists and holds no results; choose another folder"):
        compare(plain, "saola", "knn", out=tmp_path)
    with pytest.raises(OutputError, match="is a file; give a folder for the results"):
        compare(plain, "saola", "knn", out=tmp_path / "letter.txt")
    with pytest.raises(SourceError, match=r"holds no results; it has no compare.json"):
        open_results(tmp_path)
    (tmp_path / "compare.json").write_text("{}")
    with pytest.raises(SourceError, match=r"is damaged .*; run tamis compare again, finished"):
        open_results(tmp_path)
