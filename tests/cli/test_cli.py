"""The commands, as a user runs them."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import tamis as library
from tamis.cli.main import COMMANDS, LazyGroup
from tamis.cli.options import SECTIONS, in_sections


def kept(folder):
    with (folder / "selected.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("options", "method", "of_the_measure", "reason"),
    [
        ([], "sieve", "AnyShape(", "it is the default of Sieve"),
        (["--method", "saola"], "saola", "MutualInformation(", "every value is a whole number"),
    ],
)
def test_select_writes_a_folder_and_prints_what_it_kept(
    tamis, svm, tmp_path, options, method, of_the_measure, reason
):
    done = tamis("select", "t.svm", "--out", "run", *options)
    assert done.code == 0
    assert sorted(os.listdir(tmp_path)) == ["run", "t.svm"]
    assert sorted(os.listdir("run")) == [
        "events.parquet",
        "log.parquet",
        "run.json",
        "selected.csv",
        "state.lock",
        "state.sqlite",
    ]
    assert [row["name"] for row in kept(tmp_path / "run")] == ["3", "20"]
    summary, task, measure, luck, certified, where = done.out.splitlines()
    assert luck.startswith("luck: chance alone lets about 0.3 of 30 columns pass the test at 0.01")
    assert certified.startswith("certified: 2 of 2 kept features, ")
    assert summary.startswith(f"{method} kept 2 of 30 features (")
    assert " on 200 rows in " in summary
    assert task.startswith("task: classification, because the target holds 2 different whole ")
    assert measure.startswith(f"measure: {of_the_measure}")
    assert f", because {reason}" in measure
    assert where.endswith("tamis why run FEATURE")
    assert "stored by rows" not in done.err
    assert pq.read_table("run/log.parquet").num_rows == 30


def test_run_json_records_the_command_the_file_and_the_times(tamis, svm, tmp_path):
    tamis("select", "t.svm", "--out", "my run", "--param", "n_features=9", "--n-jobs", "1")
    facts = json.loads((tmp_path / "my run" / "run.json").read_text())
    assert facts["command"] == "tamis select t.svm --out 'my run' --param n_features=9 --n-jobs 1"
    assert facts["method"] == "sieve"
    assert facts["parameters"]["n_features"] == "9"
    assert facts["source"]["name"] == "t.svm"
    assert facts["source"]["fingerprint"]
    assert list(facts["seconds"]) == ["columns", "select", "fingerprint"]
    assert facts["versions"]["tamis"] == library.__version__
    assert facts["work"]["features"] == 30


def test_the_column_store_is_reused_only_for_the_same_index_base(tamis, svm, tmp_path):
    little = ("--memory", "10KB")  # too little to hold the columns
    first = tamis("select", "t.svm", "--out", "a", *little)
    assert "t.svm is stored by rows, so it was turned into the column store " in first.err
    assert "using the column store" in tamis("select", "t.svm", "--out", "b", *little).err
    forced = tamis("select", "t.svm", "--out", "c", "--zero-based", *little)
    assert "is stored by rows" in forced.err
    assert "of 31 features" in forced.out
    names = [[row["name"] for row in kept(tmp_path / run)] for run in "abc"]
    assert names == [["3", "20"]] * 3
    assert [row["feature"] for row in kept(tmp_path / "c")] == ["3", "20"]
    assert [row["feature"] for row in kept(tmp_path / "a")] == ["2", "19"]


def test_every_format_gives_the_same_features(tamis, svm, tmp_path):
    with gzip.open("z.svm.gz", "wb") as file:
        file.write(svm.read_bytes())
    matrix, y = library.open(svm).load()
    sp.save_npz("m.npz", matrix)
    np.save("m.y.npy", y)
    assert tamis("convert", "t.svm", "store").code == 0
    shutil.copy(svm, "rows.txt")
    for k, arguments in enumerate(
        [["t.svm"], ["z.svm.gz"], ["m.npz"], ["store"], ["rows.txt", "--format", "svmlight"]]
    ):
        assert tamis("select", *arguments, "--out", f"run{k}").code == 0
        features = [row["feature"] for row in kept(tmp_path / f"run{k}")]
        assert features == ["2", "19"]


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (["--measure", "fisher_z", "--alpha", "0.001"], "FisherZ(alpha=0.001"),
        (["--measure", "mutual_information"], "MutualInformation("),
        (["--measure", "symmetric_uncertainty", "--threshold", "0.1"],
         "SymmetricUncertainty(threshold=0.1"),
        (["--threshold", "0"], "MutualInformation(threshold=0.0, alpha=None)"),
    ],
)  # fmt: skip
def test_the_measure_is_the_one_requested(tamis, svm, options, measure):
    done = tamis("select", "t.svm", "--out", "run", "--method", "saola", *options)
    assert f"measure: {measure}" in done.out
    assert "because it was given" in done.out


def test_force_replaces_a_run_and_quiet_prints_nothing(tamis, svm, tmp_path):
    tamis("select", "t.svm", "--out", "run")
    more = ("--method", "saola", "--threshold", "0.5")
    done = tamis("select", "t.svm", "--out", "run", "--force", "--quiet", *more)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert not (tmp_path / "run" / "selected.csv").exists()  # nothing is kept


def test_width_and_threads_do_not_change_a_byte_of_the_log(tamis, svm, tmp_path):
    logs = set()
    for width, n_jobs in ((1, 1), (7, 2), (1000, 2)):
        tamis("select", "t.svm", "--out", "r", "--force", "--width", width, "--n-jobs", n_jobs)
        logs.add(tuple((tmp_path / "r" / f"{n}.parquet").read_bytes() for n in ("log", "events")))
    assert len(logs) == 1


@pytest.mark.parametrize(
    ("options", "kept", "redundant", "other", "irrelevant"),
    [
        ([], "R(20, class)=", "its dependence on 20 is 1", "and 20 predicts", "R(5, class)="),
        (["--method", "saola"], "I(20; class)=", "I(21; class)=", "on 20 (", "I(5; class)="),
    ],
)
def test_why_explains_each_feature(tamis, svm, options, kept, redundant, other, irrelevant):
    tamis("select", "t.svm", "--out", "run", *options)
    done = tamis("why", "run/", "20", "21", "5")
    assert (done.code, done.err) == (0, "")
    strong, copy, weak = done.out.splitlines()
    assert strong.startswith(f"20 is kept: {kept}")
    assert copy.startswith(f"21 was dropped as redundant: {redundant}")
    assert other in copy
    assert weak.startswith(f"5 was dropped as irrelevant: {irrelevant}")


def test_unusual_names_are_printed_on_one_line_without_control_characters(tamis, tmp_path):
    names = ["two\nlines", "\x1b[2Jclear", "🧬 <gène>", "\u202eevil"]
    y = np.arange(100) % 2
    X = np.column_stack([1 - y, np.arange(100) % 3, np.arange(100) // 50, np.arange(100) % 5])
    frame = pd.DataFrame(X, columns=names)
    library.save_run(library.select(frame, "saola", y), tmp_path / "run")
    done = tamis("why", "run", *names)
    assert [line.split(" ")[0] for line in done.out.splitlines()] == [
        r"two\nlines", r"\x1b[2Jclear", "🧬", r"\u202eevil",
    ]  # fmt: skip
    assert "\x1b" not in done.out


def test_info_describes_a_file_a_store_and_a_run(tamis, svm):
    tamis("select", "t.svm", "--out", "run")
    tamis("convert", "t.svm", "t.svm.cols")
    for path, facts in {
        "t.svm": ["format       svmlight", "n_rows       200", "zero_based   no"],
        "t.svm.cols": ["format          cols", "n_columns       30", "integer_values  yes"],
        "run": [
            "method                sieve",
            "features              30",
            "kept                  2",
        ],
    }.items():
        done = tamis("info", path)
        assert done.code == 0
        shown = {" ".join(line.split()) for line in done.out.splitlines()}
        assert {" ".join(fact.split()) for fact in facts} <= shown
        as_json = tamis("info", path, "--json")
        found = json.loads(as_json.out)
        lines = [line for line in done.out.splitlines() if re.match(r"[\w ,]+\S  +\S", line)]
        assert len(found) - ("profile" in found) == len(lines)


def test_convert_writes_a_store_and_replaces_it_only_by_force(tamis, svm):
    done = tamis("convert", "t.svm", "s.cols", "--memory", "1MB")
    assert done.code == 0
    stored = library.open(svm).load()[0].nnz
    assert done.out == f"wrote s.cols: 200 rows, 30 columns, {stored:,} stored values\n"
    message = tamis("convert", "t.svm", "s.cols").one_sentence()
    assert message == "s.cols already exists; choose another name, or use --force (force=True)"
    assert tamis("convert", "t.svm", "s.cols", "--force").code == 0
    quiet = tamis("convert", "t.svm", "s.cols", "--force", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_convert_writes_rows_if_the_extension_is_rows(tamis, svm):
    done = tamis("convert", "t.svm", "s.rows")
    assert done.code == 0
    X, y = library.open(svm).load()
    assert done.out == f"wrote s.rows: 200 rows, 30 columns, {X.nnz:,} stored values\n"
    store = library.open(svm.parent / "s.rows")
    assert store.format == "rows"
    assert (store.load()[0] != X).nnz == 0
    assert store.target().tolist() == y.tolist()
    assert tamis("convert", "s.rows", "s.cols").code == 0
    assert (library.open(svm.parent / "s.cols").load()[0] != X.tocsc()).nnz == 0


def test_demo_finds_what_was_planted_and_writes_a_report(tamis, tmp_path):
    done = tamis("demo", "--out", "d/e", "--columns", "20000")
    assert done.code == 0
    assert "found 10 of the 10 planted features and 0 others" in done.out
    assert done.out.rstrip().endswith("The report is d/e/digits.html")
    assert "saola kept 10 of 20,000 features" in (tmp_path / "d/e/stream.html").read_text()
    assert tamis("why", "d/e/stream", "x750").out.startswith("x750 is kept: ")
    again = tamis("demo", "--out", "d/e", "--columns", "1000")
    assert again.code == 0


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_help_of_every_command_shows_examples(tamis, command):
    done = tamis(command, "--help")
    assert done.code == 0
    heading, _, examples = done.out.partition("Example")
    assert heading.startswith(f"Usage: tamis {command}")
    assert examples.partition("\n")[2].startswith(f"    tamis {command}")
    assert "\\b" not in done.out


def test_help_shows_every_option_once_in_sections(tamis):
    titles, named = set(), {name for names in SECTIONS.values() for name in names.split()}
    group = LazyGroup()
    for name in COMMANDS:
        params = group.get_command(click.Context(group), name).params
        options = [param for param in params if isinstance(param, click.Option)]
        sections = in_sections(params)
        inside = [option for found in sections.values() for option in found]
        assert sorted(map(id, options)) == sorted(map(id, inside))
        shown = tamis(name, "--help").out
        assert all(f"\n{title}:\n" in shown for title in sections)
        titles |= set(sections)
        named -= {option.name for option in options}
    assert titles == set(SECTIONS)
    assert not named, "no command has such an option"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command_and_a_first_run(tamis, arguments):
    done = tamis(*arguments)
    assert done.code == 0
    assert all(f"\n  {command} " in done.out for command in COMMANDS)
    assert "\n    tamis select houses.csv --target price --out run/\n" in done.out


def test_version(tamis):
    assert tamis("--version").out == f"tamis, version {library.__version__}\n"


def test_python_m_tamis_is_the_same_command(tmp_path, svm):
    done = subprocess.run(
        [sys.executable, "-m", "tamis", "info", "t.svm"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("t.svm: 200 rows, 30 columns\n")


def test_help_does_not_wait_for_the_numeric_libraries():
    code = (
        "import sys; from tamis.cli import main; sys.argv = ['tamis', '--help']\n"
        "try: main.run()\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_stops_early_is_not_an_error(tmp_path, svm):
    there, here = os.pipe()
    os.close(there)
    done = subprocess.run(
        [sys.executable, "-m", "tamis", "info", "t.svm"],
        cwd=tmp_path, stdout=here, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(here)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_name_in_another_encoding_is_read_and_recorded(tmp_path, svm):
    odd = os.fsencode(tmp_path) + b"/\xff.svm"
    os.rename(svm, odd)
    done = subprocess.run(
        [sys.executable, "-m", "tamis", "select", odd, "--out", "run"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["source"]["name"] == "\udcff.svm"


def test_a_run_that_keeps_nothing_says_so_and_writes_no_empty_table(tamis, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "noise.npy", rng.normal(size=(60, 5)))
    np.save(tmp_path / "y.npy", np.arange(60) % 2)
    done = tamis("select", tmp_path / "noise.npy", "--alpha", "1e-9", "--out", tmp_path / "run")
    assert done.code == 0, done
    assert done.out.splitlines()[-1].startswith("no feature was kept, so ")
    assert not (tmp_path / "run" / "selected.csv").exists()
    assert tamis("why", tmp_path / "run", "x1").out.startswith("x1 was dropped as irrelevant")
    more = (np.arange(60) % 2 + rng.normal(size=60) / 10).reshape(-1, 1)
    np.save(tmp_path / "more.npy", more)
    assert tamis("feed", tmp_path / "run", tmp_path / "more.npy").code == 0
    assert (tmp_path / "run" / "selected.csv").exists()
    assert tamis("drop", tmp_path / "run", "x5").code == 0
    assert not (tmp_path / "run" / "selected.csv").exists()


def test_why_says_why_a_column_is_not_a_feature(tamis, tmp_path):
    rng = np.random.default_rng(0)
    day = [f"2024-01-{1 + i % 28:02}" for i in range(90)]
    y = np.arange(90) % 3
    lines = [f"{d},r{i},{c},{g},{x:.3f},{c}" for i, (d, c, g, x) in enumerate(
        zip(day, y, rng.integers(0, 4, 90), rng.normal(size=90), strict=True)
    )]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["seen,id,good,old,noise,class", *lines]) + "\n")
    roles = ("--target", "class", "--key", "id", "--ignore", "noise", "--given", "old",
             "--dates", "ignore")  # fmt: skip
    tamis("select", "t.csv", *roles, "--method", "saola", "--out", "run")
    out = tamis("why", "run", "seen", "id", "noise", "class", "old", "good").out.splitlines()
    assert out[:5] == [
        "seen is not among the features: it holds dates; --dates number (dates='number') takes "
        "them as days",
        "id is not among the features: it is the key, which says which row is which",
        "noise is not among the features: it was ignored on request (--ignore, ignore=)",
        "class is not among the features: it is the target",
        "old is not among the features: it is a covariate, which the others are adjusted for",
    ]
    assert out[5].startswith("good is kept")
    (facts,) = json.loads(tamis("why", "run", "seen", "--json").out)
    assert (facts["name"], facts["verdict"]) == ("seen", "left out")
    assert tamis("why", "run", "nobody").one_sentence().startswith("no feature is called 'nobody'")


def test_why_without_a_feature_explains_those_that_are_kept(tamis, svm):
    tamis("select", "t.svm", "--method", "saola", "--out", "run")
    explained = tamis("why", "run", "3", "20").out.splitlines()
    assert tamis("why", "run").out.splitlines() == [
        *explained,
        "ask about any of 30 features with: tamis why run FEATURE",
    ]
    assert [one["name"] for one in json.loads(tamis("why", "run", "--json").out)] == ["3", "20"]
