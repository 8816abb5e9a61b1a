"""Tables of genes by samples, and targets from a table that is joined by a key."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.checks import check
from tamis.core.errors import DataWarning, InputError, ParameterError, SourceError
from tamis.sources.axis import to_rows

COLON = Path(__file__).parents[3] / "shared" / "data" / "colon"


def tables(n: int = 40, genes: int = 30) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Genes by samples, and phenotypes with the samples in another order."""
    rng = np.random.default_rng(0)
    status = rng.integers(0, 2, n)
    X = rng.normal(size=(n, genes)).round(3)
    X[:, 3] += 3 * status
    samples = [f"S{i}" for i in range(n)]
    expression = pd.DataFrame(X.T, index=[f"g{j}" for j in range(genes)], columns=samples)
    expression.index.name = "gene"
    phenotypes = pd.DataFrame(
        {
            "sample": samples,
            "age": rng.integers(20, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "status": np.where(status, "sick", "well"),
        }
    )
    return expression, phenotypes.sample(frac=1, random_state=0)


def write(folder: Path, expression: pd.DataFrame, kind: str) -> Path:
    path = folder / f"expr.{kind}"
    if kind == "parquet":
        expression.reset_index().to_parquet(path, row_group_size=7)
    elif kind == "arrow":
        expression.reset_index().to_feather(path)
    else:
        expression.to_csv(path, sep="\t" if "tsv" in kind else ",")
    return path


def like(path: Path, **more: object) -> dict[str, object]:
    return {"transpose": True, "y": path, "key": "sample", "target": "status", **more}


@pytest.mark.parametrize("kind", ["csv", "tsv", "tsv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("memory", [None, 5_000])
def test_genes_by_samples(tmp_path, kind, memory):
    expression, phenotypes = tables()
    path, pheno = write(tmp_path, expression, kind), tmp_path / "pheno.tsv"
    phenotypes.to_csv(pheno, sep="\t", index=False)
    source = tamis.open(path, memory=memory, **like(pheno))
    assert (source.n_rows, source.n_columns) == (40, 30)
    X, y = source.load()
    assert np.array_equal(X, expression.to_numpy().T)
    assert list(source.names() or ()) == expression.index.tolist()
    by_key = phenotypes.set_index("sample")
    assert y.tolist() == by_key.loc[expression.columns, "status"].tolist()
    assert source.column("age").tolist() == by_key.loc[expression.columns, "age"].tolist()
    assert source.column("sex").tolist() == by_key.loc[expression.columns, "sex"].tolist()
    assert source.column("nothing") is None
    for width in (1, 7, 64):
        assert np.array_equal(np.hstack([b.values for b in source.columns(width)]), X)
    assert np.array_equal(np.hstack([b.values for b in source.columns(4, 5, 21)]), X[:, 5:21])
    assert np.array_equal(np.vstack([b.values for b in to_rows(source).batches(9)]), X)
    run = tamis.select(source)
    assert run.kept_names[:1] == ["g3"]
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, pheno.name])


def test_it_is_the_same_as_the_usual_table(tmp_path):
    expression, phenotypes = tables()
    usual = expression.T.reset_index(names="sample")
    usual.to_csv(tmp_path / "usual.csv", index=False)
    phenotypes.to_parquet(tmp_path / "pheno.parquet")
    path = write(tmp_path, expression, "tsv")
    runs = [
        tamis.select(tamis.open(path, **like(tmp_path / "pheno.parquet"))),
        tamis.select(
            tamis.open(
                tmp_path / "usual.csv", y=tmp_path / "pheno.parquet", key="sample", target="status"
            )
        ),
        tamis.select(tamis.open(path, **like(phenotypes))),  # a data frame
    ]
    order = phenotypes.set_index("sample").loc[expression.columns, "status"].to_numpy()
    plain = tamis.select(expression.T, y=order)
    for run in runs:
        assert run.kept_rows() == plain.kept_rows()


def test_rows_that_only_one_side_has_are_counted(tmp_path):
    expression, phenotypes = tables()
    path = write(tmp_path, expression, "tsv")
    some = phenotypes[~phenotypes["sample"].isin(["S1", "S2"])].copy()
    some.loc[some["sample"] == "S7", "status"] = None
    some = pd.concat([some, pd.DataFrame({"sample": ["T1"], "status": ["well"]})])
    some.to_csv(tmp_path / "pheno.csv", index=False)
    with pytest.warns(DataWarning) as said:
        source = tamis.open(path, **like(tmp_path / "pheno.csv"))
    assert str(said[0].message) == (
        "37 rows are used; 2 of expr.tsv are not in pheno.csv ('S1', 'S2'), 1 of pheno.csv is not "
        "in expr.tsv ('T1'), 1 has no 'status'"
    )
    left = [f"S{i}" for i in range(40) if i not in (1, 2, 7)]
    assert np.array_equal(source.load()[0], expression[left].to_numpy().T)
    assert source.target().tolist() == some.set_index("sample").loc[left, "status"].tolist()
    assert source.keys()[1].tolist() == left
    # By rows as well, where the table is larger than memory.
    usual = expression.T.reset_index(names="sample")
    usual.to_csv(tmp_path / "usual.csv", index=False)
    with pytest.warns(DataWarning, match="37 rows are used"):
        rows = tamis.open(
            tmp_path / "usual.csv", y=tmp_path / "pheno.csv", key="sample", target="status",
            memory=1_000,
        )  # fmt: skip
    assert rows.axis == "rows"
    assert np.array_equal(rows.load()[0], source.load()[0])
    assert rows.load()[1].tolist() == source.target().tolist()


def test_what_is_wrong_is_one_sentence(tmp_path):
    expression, phenotypes = tables()
    path, pheno = write(tmp_path, expression, "tsv"), tmp_path / "pheno.tsv"
    phenotypes.to_csv(pheno, sep="\t", index=False)
    cases = [
        (like(pheno, key=None), r"name the column of .*pheno.tsv that identifies the rows"),
        (like(pheno, key="samples"), "pheno.tsv has no column 'samples', which key names"),
        (like(pheno, target="state"), "pheno.tsv has no column 'state', which target names"),
        (like(pheno, key="sex"), "pheno.tsv has 'f' twice in 'sex'; give every row once"),
        ({"transpose": True, "target": "status"}, r"target= .* names a column of the table"),
    ]  # fmt: skip
    for options, sentence in cases:
        with pytest.raises(SourceError, match=sentence):
            tamis.open(path, **options)
    with pytest.raises(tamis.TamisError, match="name a table of the samples with --y FILE"):
        tamis.select(tamis.open(path, transpose=True))
    sentence = r"name a column of pheno\.tsv with --target, in Python target=; pheno\.tsv has"
    with pytest.raises(tamis.TamisError, match=sentence):
        tamis.select(tamis.open(path, **like(pheno, target=None)))
    others = phenotypes.assign(sample=phenotypes["sample"].str.lower())
    others.to_csv(pheno, sep="\t", index=False)
    with pytest.raises(
        SourceError, match=r"no row of .* is in column 'sample'.*make the keys equal"
    ):
        tamis.open(path, **like(pheno))
    described = expression.assign(description=[f"a gene {j}" for j in range(30)])
    path = write(tmp_path, described, "tsv")
    with pytest.raises(
        SourceError, match=r"'description' holds text.*leave others out with ignore="
    ):
        tamis.open(path, transpose=True)
    phenotypes.to_csv(pheno, sep="\t", index=False)
    assert tamis.open(path, **like(pheno, ignore="description")).n_rows == 40
    with pytest.raises(SourceError, match=r"transpose= .* is for CSV, Parquet and Arrow files"):
        tamis.open(np.eye(3), transpose=True)


def test_two_genes_of_the_same_name_get_different_names(tmp_path):
    expression, phenotypes = tables(genes=4)
    expression.index = ["A", "B", "A", "A"]
    path = write(tmp_path, expression, "csv")
    with pytest.warns(DataWarning, match=r"1 name of a feature occurs more than once \('A'\); the"):
        source = tamis.open(path, **like(phenotypes))
    assert list(source.names() or ()) == ["A", "B", "A.2", "A.3"]


def test_row_names_of_r_and_decimal_commas(tmp_path):
    """What write.table(x, sep = "\\t", dec = ",") writes: no name above the row names."""
    expression, phenotypes = tables()
    lines = ["\t".join(f'"{name}"' for name in expression.columns)]
    for gene, row in expression.iterrows():
        lines.append("\t".join([f'"{gene}"', *(str(x).replace(".", ",") for x in row)]))
    (tmp_path / "expr.tsv").write_text("\n".join(lines) + "\n")
    with pytest.warns(DataWarning, match="decimals are written with a comma"):
        source = tamis.open(tmp_path / "expr.tsv", **like(phenotypes))
    assert np.array_equal(source.load()[0], expression.to_numpy().T)
    assert list(source.names() or ()) == expression.index.tolist()


@pytest.mark.skipif(not COLON.exists(), reason="needs the colon data")
def test_colon_as_a_table_of_genes(tmp_path):
    X, y = np.load(COLON / "X.npy"), np.load(COLON / "y.npy")
    samples = [f"T{i}" for i in range(len(y))]
    genes = pd.DataFrame(X.T, [f"gene{j}" for j in range(X.shape[1])], samples)
    genes.to_csv(tmp_path / "expr.tsv", sep="\t")
    order = np.random.default_rng(0).permutation(len(y))
    pheno = pd.DataFrame({"sample": samples, "status": y}).iloc[order]
    pheno.to_csv(tmp_path / "pheno.tsv", sep="\t", index=False)
    run = tamis.select(tamis.open(tmp_path / "expr.tsv", **like(tmp_path / "pheno.tsv")))
    assert [k["feature"] for k in run.kept_rows()] == [
        k["feature"] for k in tamis.select(X, y=y).kept_rows()
    ]


def test_parquet_row_groups_are_read_in_order(tmp_path):
    expression, phenotypes = tables()
    path = write(tmp_path, expression, "parquet")
    assert pq.ParquetFile(path).num_row_groups > 1
    assert np.array_equal(tamis.open(path, **like(phenotypes)).load()[0], expression.to_numpy().T)


def test_columns_of_the_phenotypes_are_covariates(tmp_path):
    """given= and sample_weight= find columns of the joined table, in the order of the rows."""
    expression, phenotypes = tables()
    path, pheno = write(tmp_path, expression, "tsv"), tmp_path / "pheno.tsv"
    phenotypes["weight"] = np.arange(1, 41) / 40
    phenotypes.to_csv(pheno, sep="\t", index=False)
    by_key = phenotypes.set_index("sample").loc[expression.columns]
    frame = expression.T.assign(age=by_key["age"], sex=by_key["sex"], weight=by_key["weight"])
    for names in (["age"], ["age", "sex"]):
        joined = tamis.select(tamis.open(path, **like(pheno)), "saola", given=names)
        others = [name for name in ("age", "sex", "weight") if name not in names]
        plain = tamis.select(
            frame.drop(columns=others), "saola", by_key["status"].to_numpy(), given=names
        )
        assert joined.kept_names == plain.kept_names
        relevance = [row["relevance"] for row in plain.kept_rows()]
        assert [row["relevance"] for row in joined.kept_rows()] == relevance
    with pytest.raises(
        tamis.TamisError, match="has no column 'place', which given names; it has 'age', 'sex'"
    ):
        tamis.select(tamis.open(path, **like(pheno)), given=["place"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("labels", [["no", "yes", None], [0, 1, None], [0.5, 1.5, None]])
def test_rows_without_a_target_can_be_left_out(tmp_path, kind, labels):
    """What is kept is what a file without these rows gives."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    table = pd.DataFrame({"id": range(240), "a": y % 2 + rng.normal(size=240), "b": y * 7 % 5})
    table["word"] = np.where(y == 1, "u", rng.choice(["v", "w"], 240))
    table["target"] = [labels[k] for k in y]
    path, clean = tmp_path / f"all.{kind}", tmp_path / f"clean.{kind}"
    for frame, where in ((table, path), (table[y < 2], clean)):
        if kind == "csv":
            frame.to_csv(where, index=False)
        else:
            frame.to_parquet(where, index=False) if kind == "parquet" else frame.reset_index(
                drop=True
            ).to_feather(where)
    left_out = f"{sum(y == 2)} rows have no 'target' and are left out"
    with pytest.warns(UserWarning, match=left_out):
        known = tamis.open(path, target="target", key="id", missing_target="drop")
    assert known.n_rows == sum(y < 2)
    assert known.keys()[1].astype(int).tolist() == np.flatnonzero(y < 2).tolist()
    expected = tamis.select(tamis.open(clean, target="target", key="id"), task="classification")
    found = tamis.select(known, task="classification")
    assert found.log.replay() == expected.log.replay()
    assert found.kept_names == expected.kept_names
    check(known)
    with pytest.raises(InputError, match="missing_target='drop'"):
        tamis.select(tamis.open(path, target="target", key="id"))


def test_missing_targets_that_cannot_be_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,\n2,\n")
    with pytest.raises(SourceError, match="no row has a value of 'y'"):
        tamis.open(path, target="y", missing_target="drop")
    with pytest.raises(SourceError, match="needs a target, and"):
        tamis.open(path, missing_target="drop")
    with pytest.raises(ParameterError, match="missing_target"):
        tamis.open(path, target="y", missing_target="gaps")
    path.write_text("a,y\n1,0\n2,1\n")
    assert tamis.open(path, target="y", missing_target="drop").format == "csv"
    assert tamis.open(path, target="y", missing_target="drop").keys() is None
