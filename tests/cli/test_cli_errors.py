"""Every error is one sentence, with exit code 2, and nothing is written."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from tamis.cli import main
from tamis.core.errors import ParameterError
from tamis.core.params import parameters

SAOLA = ("--out", "run", "--method", "saola")


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.fixture
def refused(tamis, tmp_path):
    """Run a command that must fail, and return its message."""

    def run(*arguments):
        before = everything(tmp_path)
        sentence = tamis(*arguments).one_sentence()
        assert everything(tmp_path) == before
        return sentence

    return run


def pipe(path):
    os.mkfifo(path)


def no_file(_):
    pass


def empty(path):
    path.write_bytes(b"")


def folder(path):
    path.mkdir()


def text(content):
    return lambda path: path.write_bytes(content)


def truncated(path):
    rng = np.random.default_rng(0)
    lines = "".join(f"1 1:{v}\n" for v in rng.random(5000))
    path.write_bytes(gzip.compress(lines.encode())[:-2000])


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("t.svm", no_file, "t.svm does not exist; check the path"),
        ("t.npz", no_file, "t.npz does not exist; check the path"),
        ("t.cols", no_file, "t.cols does not exist; check the path"),
        ("nothing", no_file, "nothing: there is no such file or folder"),
        ("t.svm", folder, "t.svm is a folder; give the path of a file in it"),
        ("t.npz", folder, "t.npz is a folder"),
        ("data", folder, "data is a folder but not a column store; give a file of data"),
        ("t.cols", folder, "t.cols is not a column store: it has no meta.json"),
        ("t.svm", pipe, "t.svm is a pipe or a device, which cannot be read twice; save it to a"),
        ("t.svm", empty, "t.svm is empty; give a file with at least one row"),
        ("t.npz", empty, "t.npz is empty"),
        ("t.svm", text(b"# only a comment\n"), "t.svm holds no rows; give a file with at least"),
        ("t.svm", text(b"1 1:1\n-1 2:x\n"), "t.svm, line 2, byte 6: 'x' is not a number"),
        ("t.svm", text(b"1 1:1\n-1 7\n"), "t.svm, line 2, byte 4: '7' has no colon; expected"),
        ("t.svm", text(b"1 1:1\nspam 1:1\n"), "t.svm, line 2, byte 1: 'spam' is not a number"),
        ("t.svm", text(b"1 3:1 2:1\n"), "t.svm, line 1, byte 7: '2:1' does not follow in order"),
        ("t.svm", text(b"1 1:nan\n"), "t.svm, line 1, byte 5: 'nan' is not a finite value"),
        ("t.svm", text(bytes(range(256)) * 9), "t.svm, line 1, byte 1: '"),
        ("t.npz", text(bytes(range(256)) * 9), "t.npz is not a sparse matrix in .npz form;"),
        ("t.svm.gz", truncated, "t.svm.gz is a truncated or damaged gzip file near byte"),
        ("t.svm.bz2", text(b"BZh9 no more"), "t.svm.bz2 is a truncated or damaged bzip2 file"),
        ("t.doc", text(b"1 1:1\n"), "t.doc: the format is not clear from the extension; name it"),
        ("t.xlsx", text(b"PK"), "t.xlsx is a spreadsheet; save the sheet as CSV"),
        ("t.json", text(b"[]"), "t.json is JSON; read it with pandas (read_json)"),
        ("t.vcf.gz", text(b"##"), "t.vcf.gz is a file of genotypes that tamis does not read; "),
        ("t.svm", text(b"-1 1:1\n1 4000000000:1\n"), "4000000001 columns need memory of at"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_used(refused, tmp_path, name, make, message):
    make(tmp_path / name)
    assert refused("select", name, "--out", "run").startswith(message)
    assert refused("convert", name, "store").startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Missing option '--out'; see tamis select --help"),
        (["--out", "run", "--method", "strainer"],
         "Invalid value for '--method': 'strainer' is not "),
        (["--out", "run", "--measure", "fisher-z:alpha"], "fisher_z: 'alpha' is not of the fo"),
        (
            [*SAOLA, "--measure", "auto:statistic=z"],
            "saola has no parameter 'statistic'",
        ),
        (["--out", "run", "--measure", "gini"], "the measure 'gini' is not known; give one of a"),
        (["--out", "run", "--fast"], "No such option"),
        (["--out", "run", "--alpha", "5"], "Sieve: alpha=5.0 is not a number"),
        ([*SAOLA, "--alpha", "5"], "SAOLA: alpha=5.0 is not a number"),
        (["--out", "run", "--measure", "fisher_z"], "Sieve works with the measure any_shape only"),
        ([*SAOLA, "--measure", "fisher_z", "--alpha", "2"], "SAOLA: alpha=2.0 is not a"),
        ([*SAOLA, "--measure", "fisher_z", "--alpha", "nan"], "SAOLA: alpha=nan is not"),
        ([*SAOLA, "--measure", "fisher_z", "--alpha", "x"], "Invalid value for '--alpha'"),
        ([*SAOLA, "--threshold", "-1"], "MutualInformation: threshold=-1.0 is not a num"),
        ([*SAOLA, "--measure", "fisher_z", "--threshold", "0"],
         "the measure fisher_z has no threshold"),
        ([*SAOLA, "--threshold", "0.1", "--alpha", "0.1"], "alpha is the level of a te"),
        ([*SAOLA, "--param", "bound=mean"], "SAOLA: bound='mean' is not one of 'min', '"),
        (["--out", "run", "--param", "gamma=1"], "sieve has no parameter 'gamma'; it has measu"),
        ([*SAOLA, "--param", "gamma=1"], "saola has no parameter 'gamma'; it has measu"),
        (["--out", "run", "--param", "bound"], "--param 'bound' is not of the form name=value"),
        (["--out", "run", "--width", "0"], "Invalid value for '--width': 0 is not in the range"),
        (["--out", "run", "--n-jobs", "0"], "Invalid value for '--n-jobs': 0 is not in the"),
        (["--out", "run", "--memory", "much"], "Invalid value for '--memory': 'much' is not a s"),
        (["--out", "run", "--format", "xls"], "Invalid value for '--format': 'xls' is not known"),
        (["--out", "a/b"], "the folder "),
        (["--out", "t.svm"], "t.svm already exists; choose another name, or use --force"),
        (["--out", "t.svm", "--force"], "t.svm exists and is not a run; it will not be replaced"),
        (["--out", "t.svm.cols"], "--out t.svm.cols is where the columns of t.svm go; choose an"),
        (["--out", "t.svm/run"], "the folder "),
        (["--out", "r" * 300], "cannot be written (File name too long)"),
    ],
)  # fmt: skip
def test_invalid_options(refused, svm, options, message):
    assert message in refused("select", "t.svm", *options)


def test_an_existing_run_stays(refused, tamis, svm, tmp_path):
    tamis("select", "t.svm", "--out", "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    message = refused("select", "t.svm", "--out", "run", "--threshold", "0")
    assert message.startswith("run already exists; choose another name, or use --force")
    assert (tmp_path / "run" / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ((1, 1, 1), [], "the target is 1 in every row, so no feature can predict it"),
        ((0.5, 1.5, 2), ["--method", "saola:measure=mutual_information"], "needs classes"),
    ],
)
def test_targets_that_do_not_fit_leave_nothing(tamis, tmp_path, labels, options, message):
    lines = [f"{label} 1:{k % 2} 2:1\n" for k, label in enumerate(labels)]
    (tmp_path / "t.svm").write_text("".join(lines))
    done = tamis("select", "t.svm", "--out", "run", "--quiet", *options)
    assert message in done.one_sentence()
    assert sorted(os.listdir(tmp_path)) == ["t.svm"]


def test_data_without_a_target_shows_how_to_add_one(refused, tamis, tmp_path):
    sp.save_npz("m.npz", sp.eye(5, format="csc"))
    message = refused("select", "m.npz", "--out", "run")
    assert message == (
        "m.npz has no target; save one with numpy.save as m.y.npy beside it, or name the file that "
        "holds it with --y (y=)"
    )
    tamis("convert", "m.npz", "m.cols")
    message = refused("select", "m.cols", "--out", "run")
    assert message == "m.cols has no target; convert it again from data that has one"
    np.save("m.y.npy", np.arange(4))
    assert "y has shape (4,) and" in refused("select", "m.npz", "--out", "run")


def test_why_names_the_feature_it_does_not_know(refused, tamis, svm):
    tamis("select", "t.svm", "--out", "run")
    message = refused("why", "run", "31")
    assert message == "no feature is called '31' among the 30 seen; the first is called '1'"
    assert "no feature is called 'age'" in refused("why", "run", "age")


def test_why_needs_a_run(refused, svm, tmp_path):
    for place in ("nothing", ".", "t.svm"):
        message = refused("why", place, "1")
        assert message == f"{place} is not a run folder; it has no run.json written by tamis select"
    assert refused("why") == "Missing argument 'RUN'; see tamis why --help"


@pytest.mark.parametrize(
    "command", [["why", "run", "1"], ["info", "run"], ["info", "run", "--json"]]
)
def test_a_damaged_run_is_reported(refused, tamis, svm, tmp_path, command):
    tamis("select", "t.svm", "--out", "run")
    os.unlink("run/state.sqlite")  # a run that was saved for reading only
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps(facts | {"format_version": 9}))
    assert refused(*command).startswith("run was written in format 9 and this tamis reads format 1")
    (tmp_path / "run" / "run.json").write_text(json.dumps(facts))
    os.truncate("run/log.parquet", 100)
    assert refused(*command).startswith("run is damaged (")


@pytest.mark.parametrize("command", [["why", "run", "1"], ["info", "run"], ["status", "run"]])
def test_a_damaged_living_run_is_reported(refused, tamis, svm, tmp_path, command):
    tamis("select", "t.svm", "--out", "run")
    os.truncate("run/state.sqlite", 5000)
    assert refused(*command).startswith("run is damaged (")


def test_an_unknown_command(refused):
    assert refused("sift").startswith("there is no command 'sift'; give one of select, resume, ")
    assert "No such option" in refused("--fast")


def test_convert_needs_a_place(refused, svm):
    assert "the folder " in refused("convert", "t.svm", "a/b.cols")
    assert refused("convert", "t.svm") == "Missing argument 'STORE'; see tamis convert --help"
    message = refused("convert", "t.svm", "t.svm", "--force")
    assert message == "t.svm exists and is not a column store; it will not be replaced"


def test_demo_needs_a_folder_to_write_to(refused, svm):
    assert refused("demo", "--out", "t.svm").startswith("t.svm cannot be written (")


def test_an_option_of_another_format_is_reported(refused, tamis, tmp_path):
    sp.save_npz("m.npz", sp.eye(5, format="csc"))
    message = refused("info", "m.npz", "--zero-based")
    assert message == "m.npz: the npz reader has no option 'zero_based'; leave it out"
    message = refused("info", "m.npz", "--target", "y")
    assert message.endswith("no option 'target'; leave it out, and give the target as y= (--y)")
    message = refused("info", "t.svm", "--target", "y")
    assert message.endswith("leave it out: the first value of each line is the target")


NO_ROOM = "there is no room for a library or a thread; allow more (ulimit -v, ulimit -u)"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError, 2, "there is not enough memory; try a smaller --width or --memory"),
        (KeyboardInterrupt, 130, "stopped; only what earlier steps had finished was written"),
        (ImportError("libx.so: failed to map segment from shared object"), 2, NO_ROOM),
        (RuntimeError("can't start new thread"), 2, NO_ROOM),
    ],
)
def test_expected_failures_print_no_traceback(tamis, svm, monkeypatch, error, code, message):
    def stop(*_, **__):
        raise error

    monkeypatch.setattr("tamis.engine.selecting.select", stop)
    done = tamis("select", "t.svm", "--out", "run", "--quiet")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"tamis: {message}")
    assert not os.path.exists("run")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_under_standard_output_is_reported(tmp_path, svm):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tamis", "info", "t.svm"],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    # The first run on a machine also says that it compiles.
    last = done.stderr.splitlines()[-1]
    assert last == "tamis: No space left on device; fix that and try again"


@pytest.mark.parametrize("error", [RuntimeError, OSError, ParameterError])
def test_what_fails_because_of_ctrl_c_counts_as_ctrl_c(tamis, svm, monkeypatch, error):
    def fail(*arguments, **options):
        try:
            raise KeyboardInterrupt("stopped; resume with tamis resume")
        except BaseException:
            raise error("cannot release un-acquired lock")  # noqa: B904

    monkeypatch.setattr("tamis.engine.selecting.select", fail)
    done = tamis("select", "t.svm", "--out", "run", "--quiet")
    assert done.code == 130
    assert done.err == "tamis: stopped; resume with tamis resume\n"


def test_an_internal_error_is_not_hidden(tamis, svm, monkeypatch):
    def bug(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("tamis.engine.selecting.select", bug)
    with pytest.raises(ZeroDivisionError, match="ours"):
        tamis("select", "t.svm", "--out", "run")


def test_a_sentence_stays_on_one_line_whatever_the_name(refused):
    message = refused("info", "two\nlines\x1b[2J.svm")
    assert message == r"two\nlines\x1b[2J.svm does not exist; check the path"


def test_parameters_are_parsed_as_values_if_possible_else_as_text():
    given = (
        "a=1",
        "b=0.5",
        "c=max",
        "d=[1, 2]",
        "e=None",
        "f=",
        "g=a=b",
        "h={[]: 1}",
    )
    wanted = {"a": 1, "b": 0.5, "c": "max", "d": [1, 2], "e": None, "f": "", "g": "a=b"}
    found = parameters(given)
    assert {k: found[k] for k in wanted} == wanted
    assert found["h"] == "{[]: 1}"
    assert parameters(("deep=" + "(" * 500,)) == {"deep": "(" * 500}
    with pytest.raises(ParameterError):
        parameters(("=1",))


def test_every_listed_command_exists():
    context = main.cli.make_context("tamis", [])
    assert [main.cli.get_command(context, name).name for name in main.COMMANDS] == list(
        main.COMMANDS
    )
