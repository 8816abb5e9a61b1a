"""The commands of living selections."""

from __future__ import annotations

import json
import os
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def week(tmp_path):
    """Columns of three days on 200 rows with an id; the rows of each file in another order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    better = np.where(rng.random(200) < 0.9, y, 1 - y)
    good = np.where(rng.random(200) < 0.9, better, 1 - better)
    noise = rng.integers(0, 2, (200, 3))
    days = {
        "monday": {"good": good, "noise1": noise[:, 0], "y": y},
        "tuesday": {"better": better, "noise2": noise[:, 1]},
        "wednesday": {"noise3": noise[:, 2], "copy": better},
    }
    for day, columns in days.items():
        table = pd.DataFrame({"id": np.arange(200), **columns}).iloc[rng.permutation(200)]
        table.to_parquet(tmp_path / f"{day}.parquet", index=False)
    return tmp_path


def test_a_week_on_the_command_line(tamis, week):
    arguments = (
        "--target",
        "y",
        "--key",
        "id",
        "--method",
        "saola",
        "--measure",
        "mutual_information",
        "--alpha",
        "0.01",
    )
    assert tamis("select", "monday.parquet", *arguments, "--out", "run", "--quiet").code == 0
    fed = tamis("feed", "run", "tuesday.parquet")
    assert fed.out == (
        "tuesday.parquet: 2 columns taken, 1 of them kept, 1 older one evicted\n"
        "1 feature is kept; see run/selected.csv\n"
    )
    assert "2 were fed before and were skipped" in tamis("feed", "run", "tuesday.parquet").out
    assert tamis("feed", "run", "wednesday.parquet", "--quiet").out == ""
    status = json.loads(tamis("status", "run", "--json").out)
    assert (status["features"], status["kept"], status["key"]) == (6, 1, "id")
    assert "kept        1\n" in tamis("status", "run").out
    since = tamis("log", "run", "--since", "last").out
    late = tamis("log", "run", "--since", "2999-01-01")
    assert (late.code, late.out) == (0, "")
    assert late.err == "no feature has met the rule since 2999-01-01\n"
    assert since.count("\n") == 1
    assert "copy was dropped as redundant" in since
    assert json.loads(tamis("log", "run", "--since", "1", "--json").out)[0]["feature"] == "copy"
    assert tamis("drop", "run", "better").out == (
        "better was withdrawn; it had displaced good and copy, which may be fed again\n"
    )
    assert tamis("why", "run", "better").out == (
        "better was kept until it was withdrawn: it no longer exists upstream\n"
    )
    assert "1 column taken, 1 kept" in tamis("feed", "run", "wednesday.parquet").out
    assert tamis("info", "run").code == 0


def test_the_target_is_never_fed_and_keys_survive_a_column_store(tamis, week):
    table = pd.read_parquet("monday.parquet")
    table.to_csv("monday.csv", index=False)
    arguments = (
        "--target",
        "y",
        "--key",
        "id",
        "--method",
        "saola",
        "--measure",
        "mutual_information",
        "--alpha",
        "0.01",
    )
    assert tamis("select", "monday.csv", *arguments, "--out", "run", "--quiet").code == 0
    assert tamis("feed", "run", "monday.csv").one_sentence() == (
        "monday.csv: the column 'y' is the target of the selection, not a feature; leave it out, "
        "or say so with --target y (target='y')"
    )
    assert "2 were fed before" in tamis("feed", "run", "monday.csv", "--target", "y").out
    assert "1 older one evicted" in tamis("feed", "run", "tuesday.parquet").out
    assert json.loads(tamis("status", "run", "--json").out)["key"] == "id"


def test_a_folder_is_watched_once(tamis, week):
    (week / "in").mkdir()
    tamis("select", "monday.parquet", "--target", "y", "--key", "id", "--out", "run", "--quiet")
    for day in ("wednesday", "tuesday"):
        (week / f"{day}.parquet").rename(week / "in" / f"{day}.parquet")
    (week / "in" / "bad.csv").write_text("id,a\n1\n")
    message = tamis("watch", "run", "in", "--once", "--settle", "0")
    assert [line.partition(".")[0] for line in message.out.splitlines()] == [
        "bad", "tuesday", "wednesday",
    ]  # fmt: skip
    assert "bad.csv was not fed: " in message.out
    assert message.code == 1
    again = tamis("watch", "run", "in", "--once", "--settle", "0")
    assert (again.code, again.out) == (0, "")
    assert "refused     bad.csv: " in tamis("status", "run").out


def test_ctrl_c_stops_a_watcher_cleanly(tamis, week, monkeypatch):
    (week / "in").mkdir()
    tamis("select", "monday.parquet", "--target", "y", "--key", "id", "--out", "run", "--quiet")

    def stops(seconds):
        raise KeyboardInterrupt

    # Not time.sleep itself, which other threads of this process may be in.
    monkeypatch.setattr("tamis.engine.persistent.watching.time", SimpleNamespace(sleep=stops))
    message = tamis("watch", "run", "in")
    assert (message.code, message.err) == (0, "")
    assert message.out.endswith("stopped; what was fed is committed\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("feed", "nothing", "tuesday.parquet"), "nothing is not a selection; make one with tamis"),
        (("feed", "run", "nothing.parquet"), "nothing.parquet does not exist; check the path"),
        (("feed", "fcbf", "tuesday.parquet"), "fcbf cannot be fed: fcbf decides when it has seen"),
        (("drop", "run", "height"), "no feature is called 'height' among the 2 seen"),
        (("log", "run", "--since", "soon"), "since='soon' is not a date such as 2026-11-01"),
        (("status", "nothing"), "nothing is not a selection; make one with tamis select or"),
        (("watch", "run", "nothing"), "nothing cannot be watched (No such file or directory)"),
    ],
)
def test_invalid_commands_are_reported_in_one_sentence(tamis, week, words, message):
    arguments = ("--target", "y", "--key", "id", "--quiet")
    tamis("select", "monday.parquet", *arguments, "--out", "run")
    tamis("select", "monday.parquet", *arguments, "--out", "fcbf", "--method", "fcbf")
    outcome = tamis(*words)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert message in outcome.err


def test_a_copy_of_the_target_is_refused_by_feed_and_reported_by_select(tamis, week):
    table = pd.read_parquet("monday.parquet")
    table.assign(y_2=table["y"]).to_parquet("copied.parquet", index=False)
    arguments = (
        "--target",
        "y",
        "--key",
        "id",
        "--method",
        "saola",
        "--measure",
        "mutual_information",
        "--alpha",
        "0.01",
    )
    assert tamis("select", "monday.parquet", *arguments, "--out", "run", "--quiet").code == 0
    refused = tamis("feed", "run", "copied.parquet", "--ignore", "y")
    assert refused.code == 2
    assert refused.err == (
        "tamis: copied.parquet: the column 'y_2' equals the target of the selection in "
        "every row; leave it out, or use --allow-target (allow_target=True) if it is a feature all "
        "the same\n"
    )
    fed = tamis("feed", "run", "copied.parquet", "--ignore", "y", "--allow-target")
    assert "1 column taken, 1 kept" in fed.out
    for more in ((), ("--checkpoint",)):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            done = tamis("select", "copied.parquet", *arguments, "--out", "other", "--force", *more)
        assert done.code == 0
        assert done.err.count("the column 'y_2' equals the target in every row") == 1


@pytest.mark.parametrize("more", [(), ("--checkpoint",)])
def test_a_level_alone_applies_to_the_measure_that_is_picked(tamis, week, more):
    rows = ("--target", "y", "--key", "id", "--method", "saola")
    message = tamis("select", "monday.parquet", *rows, "--alpha", "0.2", "--out", "run", *more).out
    assert "measure: MutualInformation(threshold=0.0, alpha=0.2), because every value" in message
    record = json.loads((week / "run" / "run.json").read_text())
    assert record["parameters"]["measure"] == "'auto'"
    assert record["parameters"]["alpha"] == "0.2"
    assert record["measure"] == "MutualInformation(threshold=0.0, alpha=0.2)"
    assert tamis("feed", "run", "tuesday.parquet", "wednesday.parquet", "--quiet").code == 0
    given = ("--measure", "mutual_information", "--alpha", "0.2")
    tamis("select", "monday.parquet", *rows, *given, "--out", "other")
    assert tamis("feed", "other", "tuesday.parquet", "wednesday.parquet", "--quiet").code == 0
    assert (week / "run" / "selected.csv").read_text() == (week / "other/selected.csv").read_text()


def test_a_level_alone_waits_for_the_first_columns(tmp_path):
    from tamis import SAOLA, FisherZ, Selection

    y = np.arange(60) % 2
    Selection.create(tmp_path / "run", y, SAOLA(alpha=0.2))
    Selection.open(tmp_path / "run").feed(np.random.default_rng(0).normal(size=(60, 4)))
    found = Selection.open(tmp_path / "run")
    assert found.status()["measure"] == repr(FisherZ(alpha=0.2))


def test_columns_that_are_fed_are_encoded_as_the_run_was(tamis, tmp_path):
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 200)
    age = 40 + 20 * sick + 5 * rng.normal(size=200)
    age[::9] = np.nan
    weight = 70 + 9 * rng.normal(size=200)
    pulse = 60 + 15 * sick + 4 * rng.normal(size=200)
    pulse[::10] = np.nan
    whole = pd.DataFrame({"age": age, "weight": weight, "pulse": pulse, "sick": sick})
    whole.to_csv("all.csv", index=False)
    whole[["age", "weight", "sick"]].to_csv("monday.csv", index=False)
    whole[["pulse"]].to_parquet("tuesday.parquet", index=False)
    how = ("--target", "sick", "--method", "saola", "--encode", "mdlp", "--missing", "category")
    assert tamis("select", "all.csv", *how, "--out", "whole").code == 0
    for out, more in (("run", ()), ("checked", ("--checkpoint",))):
        assert tamis("select", "monday.csv", *how, "--out", out, *more).code == 0
        assert tamis("feed", out, "tuesday.parquet").code == 0
        for feature in ("age", "weight", "pulse"):
            assert tamis("why", out, feature).out == tamis("why", "whole", feature).out
        records = [
            json.loads((tmp_path / where / "run.json").read_text()) for where in (out, "whole")
        ]
        for key in ("encode", "missing", "encoded"):
            assert records[0]["source"][key] == records[1]["source"][key]
        assert records[0]["measure_reason"] == records[1]["measure_reason"]
    assert "its values were cut at " in tamis("why", "run", "pulse").out
    assert tamis("feed", "run", "tuesday.parquet").out.startswith(
        "tuesday.parquet: 0 columns taken, 0 of them kept; 1 was fed before and was skipped"
    )
    status = tamis("status", "run").out
    assert "\nencode      MDLP()\nmissing     category\n" in status
    assert "pulse was withdrawn" in tamis("drop", "run", "pulse").out


def test_groups_from_a_file(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    data = {f"c{j}": np.where(rng.random(200) < 0.6, y, rng.integers(0, 3, 200)) for j in range(9)}
    pd.DataFrame(data).assign(y=y).to_parquet("all.parquet", index=False)
    pd.DataFrame(data).iloc[:, :6].assign(y=y).to_parquet("first.parquet", index=False)
    pd.DataFrame(data).iloc[:, 6:].to_parquet("more.parquet", index=False)
    lines = [f"c{j}\tpath{j // 3}" for j in range(9)]
    (tmp_path / "all.tsv").write_text("\n".join(["feature\tgroup", *lines]))
    (tmp_path / "first.tsv").write_text("\n".join(["feature\tgroup", *lines[:6]]))
    arguments = ("--target", "y", "--method", "group-saola", "--out")
    assert tamis("select", "all.parquet", *arguments, "whole", "--groups", "all.tsv").err == ""
    made = tamis(
        "select", "first.parquet", *arguments, "run", "--groups", "first.tsv", "--checkpoint"
    )
    assert made.code == 0
    assert tamis("feed", "run", "more.parquet", "--groups", "all.tsv").code == 0
    assert json.loads(tamis("status", "run", "--json").out)["features"] == 9
    assert tamis(
        "select", "first.parquet", *arguments, "no", "--groups", "all.tsv"
    ).one_sentence() == (
        "all.tsv names 'c6', 'c7' and 'c8', which first.parquet does not have as a feature; check "
        "the names, or leave them out"
    )
    assert tamis(
        "select", "all.parquet", *arguments, "no", "--groups", "first.tsv"
    ).one_sentence() == (
        "first.tsv gives no group to 'c6', 'c7' and 'c8' of all.parquet; add a line for each"
    )
    plain = ("select", "all.parquet", "--target", "y", "--out", "no", "--groups", "all.tsv")
    assert tamis(*plain).one_sentence() == (
        "sieve takes no groups; use group-saola, or leave out --groups (groups=)"
    )
    assert not (tmp_path / "no").exists()
    assert "feature,group" in tamis("select", "--help").out


def test_an_unknown_feature_is_reported_before_any_is_withdrawn(tamis, week):
    assert (
        tamis("select", "monday.parquet", "--target", "y", "--key", "id", "--out", "run").code == 0
    )
    message = tamis("drop", "run", "good", "never").one_sentence()
    assert message == "no feature is called 'never' among the 2 seen; the first is called 'good'"
    assert json.loads(tamis("status", "run", "--json").out)["commits"] == 1
    assert tamis("drop", "run", "good").out == "good was withdrawn\n"
    assert tamis("drop", "run", "good").one_sentence() == "good was withdrawn before"


def test_tables_that_lack_rows_are_fed_if_that_is_said(tamis, week):
    how = ("--target", "y", "--key", "id", "--missing", "category", "--encode", "equal-width")
    assert tamis("select", "monday.parquet", *how, "--out", "run").code == 0
    table = pd.read_parquet("tuesday.parquet")
    table.iloc[5:].to_parquet("short.parquet", index=False)
    sentence = tamis("feed", "run", "short.parquet").one_sentence()
    assert "--missing-rows gaps" in sentence
    done = tamis("feed", "run", "short.parquet", "--missing-rows", "gaps")
    assert done.code == 0, done
    assert "; it lacks 5 rows, whose values are missing" in done.out
    (week / "in").mkdir()
    table = pd.read_parquet("wednesday.parquet")
    table.iloc[1:].to_parquet("in/short.parquet", index=False)
    assert tamis("watch", "run", "in", "--once", "--settle", "0").code == 1
    os.utime("in/short.parquet")
    options = ("--once", "--settle", "0", "--missing-rows", "gaps")
    done = tamis("watch", "run", "in", *options)
    assert done.code == 0, done
    assert "; it lacks 1 row, whose values are missing" in done.out
