"""`tamis apply`: from a file to a smaller file."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["id,age,city,visit,died"]
    for i, y in enumerate(rng.integers(0, 2, 80)):
        city = "Oslo" if rng.random() < 0.9 * y else rng.choice(["Lyon", "Nice"])
        lines.append(
            f"{i:03d},{40 + 9 * y + rng.integers(0, 9)},{city},2026-01-{1 + i % 28:02d},{y}"
        )
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def selected(tamis, patients):
    how = ("--target", "died", "--key", "id", "--dates", "ignore", "--encode", "mdlp")
    assert tamis("select", patients, *how, "--out", "run").code == 0


def test_a_small_table_has_the_kept_columns_and_the_roles(tamis, patients, tmp_path):
    selected(tamis, patients)
    done = tamis("apply", "run", patients, "--out", "small.csv")
    assert done.code == 0, done
    header, first, *_ = (tmp_path / "small.csv").read_text().splitlines()
    kept = header.split(",")[1:-1]
    assert header.split(",")[0] == "id"
    assert header.split(",")[-1] == "died"
    assert 0 < len(kept) < 3
    assert first.startswith("000,")
    assert done.out.startswith("wrote small.csv: 80 rows, ")
    facts = json.loads(tamis("apply", "run", patients, "--out", "small.parquet", "--json").out)
    assert facts == {
        "out": "small.parquet", "rows": 80, "columns": kept, "target": "died", "key": "id",
    }  # fmt: skip
    again = tamis("apply", "run", "small.parquet", "--out", "again.csv")
    assert again.code == 0, again
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "small.csv").read_bytes()


def test_svmlight_is_renumbered_and_streams(tamis, svm, tmp_path):
    assert tamis("select", "t.svm", "--out", "run").code == 0
    assert tamis("apply", "run", "t.svm", "--out", "small.svm").code == 0
    lines = (tmp_path / "small.svm").read_text().splitlines()
    original = (tmp_path / "t.svm").read_text().splitlines()
    assert len(lines) == len(original)
    for small, line in zip(lines, original, strict=True):
        entries = dict(word.split(":") for word in line.split()[1:])
        pairs = {f"{i}": entries[name] for i, name in ((1, "3"), (2, "20")) if name in entries}
        assert float(small.split()[0]) == float(line.split()[0])
        found = dict(word.split(":") for word in small.split()[1:])
        assert {k: float(v) for k, v in found.items()} == {k: float(v) for k, v in pairs.items()}


def test_missing_columns_and_existing_files_are_one_sentence(tamis, patients, tmp_path):
    selected(tamis, patients)
    (tmp_path / "other.csv").write_text("id,size\n1,2\n")
    sentence = tamis("apply", "run", "other.csv", "--out", "x.csv").one_sentence()
    assert sentence.startswith("other.csv lacks ")
    assert tamis("apply", "run", patients, "--out", "x.csv").code == 0
    sentence = tamis("apply", "run", patients, "--out", "x.csv").one_sentence()
    assert sentence == "x.csv already exists; choose another name, or use --force"
    assert tamis("apply", "run", patients, "--out", "x.csv", "--force").code == 0
