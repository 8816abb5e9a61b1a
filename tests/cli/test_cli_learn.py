"""`tamis learn` and `tamis predict`, as a user runs them."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tamis as library
from waiting import PATIENCE, wait_until


def make(path: Path, rows: int = 400, seed: int = 0, base: int = 1) -> Path:
    """Rows in which feature 3 mostly predicts the class."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        label = int(rng.integers(0, 2))
        values = np.round(rng.normal(size=12), 3)
        values[3] += 1.2 * (2 * label - 1)
        entries = " ".join(f"{j + base}:{v}" for j, v in enumerate(values.tolist()))
        lines.append(f"{label} {entries}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def data(tmp_path) -> Path:
    make(tmp_path / "train.svm")
    make(tmp_path / "test.svm", 200, seed=1)
    return tmp_path


def test_learn_writes_a_model_and_prints_a_summary(tamis, data):
    done = tamis("learn", "train.svm", "-k", "3", "--test", "test.svm", "--out", "model")
    assert done.code == 0, done.err
    kept, error, accuracy, wrote = done.out.splitlines()
    assert re.fullmatch(
        r"RowSieve kept 3 of 12 columns; 400 rows in \d+\.\d s \([\d.]+k? rows/s\)", kept
    )
    assert re.fullmatch(r"progressive error \d+\.\d\d%: \d+ rows were predicted wrongly .*", error)
    assert re.fullmatch(r"accuracy \d\d\.\d\d% on 200 rows", accuracy)
    assert re.fullmatch(r"wrote model \([\d.]+kB\); use it with: tamis predict model FILE", wrote)
    model = library.open_model("model")
    assert "4" in model.names_  # as it is called in the file
    assert model.record["command"] == ("tamis learn train.svm -k 3 --test test.svm --out model")
    assert model.record["source"][0]["name"] == "train.svm"
    assert model.record["names"] == {"prefix": "", "base": 1}
    shown = float(accuracy.split()[1].rstrip("%")) / 100
    assert shown == pytest.approx(model.record["test"]["accuracy"], abs=1e-4)


def test_predict_prints_the_accuracy_and_writes_predictions(tamis, data):
    tamis("learn", "train.svm", "-k", "3", "--out", "model")
    done = tamis("predict", "model", "test.svm", "--out", "p.csv", "--scores")
    assert done.code == 0, done.err
    assert re.fullmatch(r"accuracy \d\d\.\d\d% on 200 rows\nwrote p\.csv\n", done.out)
    with open("p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    X, y = library.open("test.svm").load()
    model = library.open_model("model")
    assert [int(row["row"]) for row in rows] == list(range(200))
    assert [int(row["prediction"]) for row in rows] == model.predict(X).tolist()
    assert [float(row["score"]) for row in rows] == model.decision_function(X).tolist()
    facts = json.loads(tamis("predict", "model", "test.svm", "--json").out)
    assert facts["accuracy"] == model.score(X, y)
    assert facts["rows"] == facts["labelled"] == 200
    assert sorted(os.listdir()) == ["model", "p.csv", "test.svm", "train.svm"]


def test_predictions_can_be_printed(tamis, data):
    tamis("learn", "train.svm", "-k", "5", "--out", "model")
    tamis("predict", "model", "test.svm", "--out", "p.csv", "--scores")
    done = tamis("predict", "model", "test.svm", "--out", "-", "--scores")
    assert done.out == Path("p.csv").read_text()
    assert re.fullmatch(r"accuracy .* on 200 rows\n", done.err)
    assert not Path("-").exists()
    assert tamis("predict", "model", "test.svm", "--out", "-", "--json").one_sentence() == (
        "--json and --out - both go to standard output; give one of the two"
    )


def test_three_classes_have_one_score_each(tamis, data):
    lines = Path("train.svm").read_text().splitlines()
    Path("three.svm").write_text("\n".join([*lines, *("2" + line[1:] for line in lines)]) + "\n")
    tamis("learn", "three.svm", "--method", "pet", "--eta", "0.1", "--out", "model")
    tamis("predict", "model", "three.svm", "--out", "p.csv", "--scores")
    with open("p.csv", newline="") as file:
        header = next(csv.reader(file))
    assert header == ["row", "prediction", "score 0", "score 1", "score 2"]


def test_labels_that_are_not_classes_are_left_out_of_the_accuracy(tamis, data):
    tamis("learn", "train.svm", "-k", "3", "--out", "model")
    lines = Path("test.svm").read_text().splitlines()
    Path("some.svm").write_text("\n".join(["9" + lines[0][1:], *lines[1:]]) + "\n")
    message = tamis("predict", "model", "some.svm").out
    assert re.fullmatch(
        r"accuracy [\d.]+% on 199 rows \(1 other has a label that is not a class\)\n", message
    )
    Path("none.svm").write_text("\n".join("9" + line[1:] for line in lines) + "\n")
    message = tamis("predict", "model", "none.svm").out
    assert message == (
        "200 rows predicted; none has a label that is one of the classes\n"
        "they were not written; give --out FILE, or --out - to print them\n"
    )


@pytest.mark.parametrize("options", [(), ("--skip-bad-lines",)])
def test_svmlight_labels_that_are_text_name_the_first_line(tamis, data, options):
    Path("words.svm").write_text("spam 1:1 4:1\nham 2:1\n" * 20)
    assert tamis("learn", "words.svm", *options).one_sentence() == (
        "words.svm, line 1, byte 1: 'spam' is not a number (a string label); expected numbers, so "
        "number the classes first"
    )


def test_bad_lines_are_counted_reported_and_recorded(tamis, data):
    lines = Path("train.svm").read_text().splitlines()
    lines[10], lines[20], lines[30] = "", "", "1 3:nan"
    Path("bad.svm").write_text("\n".join(lines) + "\n")
    message = tamis("learn", "bad.svm", "--out", "model").one_sentence()
    assert message == (
        "bad.svm, line 11 is empty; remove it, or skip it with skip_bad_lines=True "
        "(--skip-bad-lines)"
    )
    done = tamis("learn", "bad.svm", "--out", "model", "--skip-bad-lines")
    assert (
        "skipped 3 bad lines: 2 empty (first: bad.svm, line 11), 1 with NaN or infinity "
        "(first: bad.svm, line 31)\n" in done.out
    )
    record = library.open_model("model").record
    assert record["bad_lines"] == {"empty": 2, "with NaN or infinity": 1}
    assert record["first_bad_lines"]["empty"] == "bad.svm, line 11"
    message = tamis("predict", "model", "bad.svm", "--skip-bad-lines").out
    assert "skipped 3 bad lines there: 2 empty" in message
    assert tamis("predict", "model", "bad.svm").one_sentence().startswith("bad.svm, line 11 is ")


def test_json_is_for_programs(tamis, data):
    done = tamis("learn", "train.svm", "-k", "3", "--test", "test.svm", "--json", "--out", "m")
    facts = json.loads(done.out)
    assert done.err == ""
    assert (facts["method"], facts["rows"], facts["kept"]) == ("RowSieve", 400, 3)
    assert facts["columns"] == 12
    assert 0 <= facts["progressive_error"] < 0.5 < facts["test_accuracy"] <= 1
    assert facts["model"] == "m"
    assert facts["model_bytes"] == sum(p.stat().st_size for p in Path("m").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "few"], "-k few is not a whole number and not auto"),
        (["--method", "pet", "--gamma", "1"], "pet has no parameter 'gamma'; it has "),
        (["--gamma", "0"], "RowSieve: gamma=0.0 is not a number above 0"),
        (["--classes", "0"], "classes=[0] holds one class only, [0]; give all classes with "),
        (["--classes", "ham,spam"], "train.svm, line 1 has the label "),
        (["--checkpoint"], "a checkpoint is kept beside the model; give --out (out=) too"),
        (["--test", "absent.svm"], "absent.svm does not exist; check the path"),
        (["--param", "colour=3"], "row-sieve has no parameter 'colour'; it has "),
    ],
)
def test_invalid_commands_give_one_sentence(tamis, data, arguments, message):
    assert tamis("learn", "train.svm", *arguments).one_sentence().startswith(message)


def test_several_files_passes_and_settings(tamis, data):
    arguments = [
        "--passes",
        "2",
        "--shuffle",
        "50",
        "--random-state",
        "3",
        "--normalize",
        "--n-bits",
        "10",
    ]
    done = tamis("learn", "train.svm", "test.svm", *arguments, "--param", "multiclass=uniform",
                 "--method", "arow", "--gamma", "0.5", "--json", "--out", "m")  # fmt: skip
    assert json.loads(done.out)["rows"] == 1200
    record = library.open_model("m").record
    assert record["parameters"]["n_bits"] == 10
    assert record["parameters"]["multiclass"] == "uniform"
    assert (record["passes"], record["shuffle"], record["random_state"]) == (2, 50, 3)
    X, _ = library.open("test.svm").load()
    expected = library.AROW(0.5, multiclass="uniform", normalize=True, n_bits=10).fit_stream(
        ["train.svm", "test.svm"], passes=2, shuffle=50, random_state=3
    )
    assert library.open_model("m").predict(X).tolist() == expected.predict(X).tolist()


def test_standard_input_is_learned_from_and_predicted(data):
    run = [sys.executable, "-m", "tamis"]
    packed = subprocess.run(["gzip", "-c", data / "train.svm"], capture_output=True, check=True)
    done = subprocess.run(
        [*run, "learn", "-", "-k", "3", "--out", "model"],
        cwd=data, input=packed.stdout, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = library.open_model(data / "model")
    expected = library.RowSieve(3).fit_stream(data / "train.svm")
    assert np.array_equal(model.weights_, expected.weights_)


def test_ctrl_c_shows_how_to_resume(data):
    make(data / "long.svm", 3000)
    command = [sys.executable, "-m", "tamis", "learn", "long.svm", "--passes", "100000",
               "--shuffle", "100", "--checkpoint", "0.01", "--out", "m"]  # fmt: skip
    program = subprocess.Popen(
        command, cwd=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until((data / "m.checkpoint").exists, program)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, out) == (130, "")
    last = err.splitlines()[-1]
    assert re.fullmatch(
        r"tamis: stopped after [\d,]+ rows; give the same command again to resume from "
        r"m\.checkpoint", last
    )  # fmt: skip
    assert sorted(os.listdir(data)) == ["long.svm", "m.checkpoint", "test.svm", "train.svm"]


def test_progress_shows_rows_per_second_and_the_error(tamis, data, monkeypatch):
    from tamis.cli import output as progress

    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    done = tamis("learn", "train.svm", "--passes", "2")
    assert re.search(
        r"^learning, pass 2 of 2: [\d.]+k of [\d.]+k \(100%\), 0 s left, 400 rows, "
        r"[\d.]+k? rows/s, error \d+\.\d\d%$",
        done.err,
        re.MULTILINE,
    )


def test_info_describes_a_model(tamis, data):
    assert tamis("learn", "train.svm", "-k", "5", "--test", "test.svm", "--out", "m").code == 0
    message = tamis("info", "m")
    assert message.code == 0
    assert {"RowSieve", "0, 1", "5"} <= {line[20:].strip() for line in message.out.splitlines()}
    facts = json.loads(tamis("info", "m", "--json").out)
    assert facts["features kept"] == 5
    assert facts["command"].startswith("tamis learn train.svm -k 5")


def test_the_command_for_new_files_reads_them_as_the_training_data(tamis):
    rows = "".join(f"{k};{'?' if k % 5 == 0 else k};{k % 2}\n" for k in range(40))
    Path("t.csv").write_text(f"a;b;y\n{rows}")
    options = ["--target", "y", "--na", "?", "--delimiter", ";", "--ignore", "a"]
    told = tamis("learn", "t.csv", *options, "--out", "model").out
    command = told.splitlines()[-1].partition("use it with: ")[2]
    assert command == "tamis predict model FILE --delimiter ';' --na '?'"
    done = tamis(*shlex.split(command.replace("FILE", "t.csv"))[1:])
    assert done.code == 0, done.err
