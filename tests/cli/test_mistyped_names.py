"""A mistyped name is answered with the name that was probably meant."""

from __future__ import annotations

import numpy as np
import pytest

import tamis as library

SAOLA = ("--method", "saola", "--param")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "patients.csv"
    path.write_text("age,height,died\n1,2,0\n2,3,1\n3,9,1\n4,1,0\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("selct",), "there is no command 'selct'; did you mean 'select'?"),
        (("select", "{}", "--method", "soala"), "did you mean 'saola'?"),
        (("select", "{}", "--method", "Fast_OSFS"), "did you mean 'fast-osfs'?"),
        (("select", "{}", "--measure", "fisherz"), "did you mean 'fisher_z'?"),
        (("select", "{}", "--encode", "mdpl"), "did you mean 'mdlp'?"),
        (("select", "{}", "--missing", "categroy"), "did you mean 'category'?"),
        (("select", "{}", "--format", "cvs"), "did you mean 'csv'?"),
        (("select", "{}", "--target", "dide"), "did you mean 'died'?"),
        (("select", "{}", "--ignore", "hieght", "--target", "died"), "did you mean 'height'?"),
        (("select", "{}", "--target", "died", "--param", "n_featurs=5"), "mean 'n_features'?"),
        (("select", "{}", "--target", "died", *SAOLA, "bond=max"), "did you mean 'bound'?"),
        (("select", "{}", "--target", "died", *SAOLA, "bound=mx"), "did you mean 'max'?"),
        (("learn", "{}", "--method", "sosf"), "did you mean 'sofs'?"),
        (("learn", "{}", "--target", "died", "--param", "gama=1"), "did you mean 'gamma'?"),
        (("compare", "--data", "{}", "--methods", "soala"), "did you mean 'saola'?"),
        (("compare", "--data", "{}", "--methods", "saola", "--control", "soala"), "mean 'saola'?"),
        (("compare", "--data", "{}", "--methods", "saola", "--paired", "wilcoxn"), "'wilcoxon'?"),
        (("compare", "--data", "{}", "--methods", "saola", "--classifiers", "tre"), "mean 'tree'?"),
    ],
)
def test_the_command_line_suggests_a_name(tamis, tmp_path, table, arguments, sentence):
    out = () if arguments == ("selct",) else ("--out", tmp_path / "out")
    typed = [str(table) if word == "{}" else word for word in arguments]
    assert tamis(*typed, *out).one_sentence().endswith(sentence)


@pytest.mark.parametrize(
    ("selector", "options", "sentence"),
    [
        ("soala", {}, "method 'soala' is not known; did you mean 'saola'?"),
        ("saola", {"encode": "mdpl"}, "did you mean 'mdlp'?"),
        ("saola", {"missing": "deleet"}, "did you mean 'delete'?"),
        (library.SAOLA(measure="FisherZ"), {}, "did you mean 'fisher_z'?"),
        (library.SAOLA(bound="mx"), {}, "did you mean 'max'?"),
    ],
)
def test_python_suggests_a_name(selector, options, sentence):
    with pytest.raises(library.TamisError) as error:
        library.select(np.eye(6), selector, np.arange(6) % 2, **options)
    assert str(error.value).endswith(sentence)


def test_a_name_that_is_close_to_nothing_is_answered_with_all_of_them(tamis, table, tmp_path):
    sentence = tamis(
        "select", table, "--method", "boruta", "--out", tmp_path / "out"
    ).one_sentence()
    assert "did you mean" not in sentence
    assert "give package.module:Class, or one of all, alpha-investing," in sentence
