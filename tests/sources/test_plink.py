"""PlinkSource against files that bed-reader and PLINK 1.9 itself wrote."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from tamis.core.errors import InputError, SourceError
from tamis.sources import open_source
from tamis.sources.omics.phenotypes import phenotype
from tamis.sources.omics.plink import PlinkSource

bed_reader = pytest.importorskip("bed_reader")
PLINK = shutil.which("plink1.9") or shutil.which("plink")


def write(path, calls, **properties):
    bed_reader.to_bed(path, np.asarray(calls, dtype=np.float64), properties=properties)
    return path


@pytest.fixture
def calls():
    rng = np.random.default_rng(0)
    calls = rng.integers(0, 3, (13, 9)).astype(np.float64)
    calls[rng.random(calls.shape) < 0.1] = np.nan
    return calls


@pytest.mark.parametrize("width", [None, 1, 4])
def test_columns_and_rows_are_the_calls_with_missing_values(tmp_path, calls, width, monkeypatch):
    monkeypatch.setattr("tamis.sources.omics.plink._PASS", 40)  # rows take several passes
    source = PlinkSource(write(tmp_path / "a.bed", calls, sid=[f"rs{j}" for j in range(9)]))
    blocks = list(source.columns(width))
    assert np.array_equal(np.hstack([b.values for b in blocks]), calls, equal_nan=True)
    assert [n for b in blocks for n in b.names] == [f"rs{j}" for j in range(9)]
    rows = np.vstack([b.values for b in source.batches(width)])
    assert np.array_equal(rows, calls, equal_nan=True)
    assert np.array_equal(source.load()[0], calls, equal_nan=True)


def test_a_snp_without_an_id_is_named_by_its_position(tmp_path):
    path = write(
        tmp_path / "a.bed", np.zeros((3, 3)), sid=["rs1", ".", "."], chromosome=["1", "1", "X"],
        bp_position=[5, 17, 9],
    )  # fmt: skip
    assert list(PlinkSource(path).names()) == ["rs1", "1:17", "X:9"]


def test_the_target_is_the_phenotype(tmp_path, calls):
    path = write(tmp_path / "a.bed", calls, pheno=["1", "2"] * 6 + ["1"])
    assert PlinkSource(path).target().tolist() == [1, 2] * 6 + [1]
    assert PlinkSource(path, y=np.arange(13)).target().tolist() == list(range(13))
    np.save(tmp_path / "other.npy", np.arange(13) / 2)
    assert PlinkSource(path, y=tmp_path / "other.npy").target()[3] == 1.5
    assert PlinkSource(write(tmp_path / "b.bed", calls)).target() is None


def test_a_file_of_phenotypes_in_any_order(tmp_path, calls):
    ids = [f"i{k}" for k in range(13)]
    path = write(tmp_path / "a.bed", calls, fid=ids, iid=ids)
    lines = [f"{i} {i} {k % 2 + 1} {k / 4}" for k, i in enumerate(ids)]
    file = tmp_path / "values.pheno"
    file.write_text("\n".join(["FID IID case height", *reversed(lines), "else where 1 2"]) + "\n")
    assert PlinkSource(path, y=file).target().tolist() == [k % 2 + 1 for k in range(13)]
    assert PlinkSource(path, y=file, target="height").target()[5] == 1.25
    with pytest.raises(SourceError, match="has no phenotype 'weight'; it has case, height"):
        PlinkSource(path, y=file, target="weight").target()
    file.write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(SourceError, match="has no line for individual 'i0 i0', and 0 others"):
        PlinkSource(path, y=file).target()
    file.write_text("i0 i0\n")
    with pytest.raises(SourceError, match="has 2 columns; give FID, IID"):
        PlinkSource(path, y=file).target()


def test_which_phenotypes_there_are():
    assert phenotype(np.array(["0", "0"]), "f") is None
    assert phenotype(np.array(["-9", "-9"]), "f") is None
    assert phenotype(np.array(["0", "1"]), "f").tolist() == [0, 1]
    assert phenotype(np.array(["0.5", "-3"]), "f").tolist() == [0.5, -3.0]
    assert phenotype(np.array(["tall", "short"]), "f").tolist() == ["tall", "short"]
    for words in (["0", "1", "2"], ["-9", "0.5", "2"], ["NA", "1", "2"]):
        with pytest.raises(SourceError, match="f: 1 of 3 individuals have no phenotype"):
            phenotype(np.array(words), "f")


def test_a_bed_of_another_size_is_refused(tmp_path, calls):
    path = write(tmp_path / "a.bed", calls)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole + b"\0", whole[:4]):
        path.write_bytes(damaged)
        with pytest.raises(SourceError) as caught:
            PlinkSource(path)
        assert str(caught.value) == (
            f"{path} has {len(damaged)} bytes, and 13 individuals in .fam with 9 SNPs in .bim make "
            "39; one of the three files is truncated or belongs to different data"
        )
    path.write_bytes(b"no genotypes at all")
    with pytest.raises(SourceError, match=r"not a PLINK 1 \.bed file: its first bytes are wrong"):
        PlinkSource(path)


def test_missing_and_invalid_files_are_reported(tmp_path, calls):
    path = write(tmp_path / "a.bed", calls)
    (tmp_path / "a.bim").write_text("only two\n" * 9)
    with pytest.raises(SourceError, match=r"the \.bim and \.fam files next to it cannot be read"):
        PlinkSource(path)
    (tmp_path / "a.bim").unlink()
    with pytest.raises(SourceError, match=r"a\.bim does not exist; check the path"):
        PlinkSource(path)


def test_missing_calls_are_refused_with_the_name_of_the_snp(tmp_path):
    import tamis

    calls = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [0.0, 2.0]])
    path = write(tmp_path / "a.bed", calls, sid=["rs7", "rs8"], pheno=["1", "2", "2", "1"])
    with pytest.raises(InputError, match="rs8"):
        tamis.select(path, tamis.SAOLA())


@pytest.mark.skipif(PLINK is None, reason="needs PLINK 1.9")
def test_files_that_plink_writes(tmp_path):
    rng = np.random.default_rng(1)
    letters = np.array(["A", "G"])[rng.integers(0, 2, (25, 12, 2))]
    letters[rng.random((25, 12)) < 0.1] = "0"  # no call
    ped = [
        f"f{i} i{i} 0 0 1 {1 + i % 2} " + " ".join(" ".join(pair) for pair in row)
        for i, row in enumerate(letters)
    ]
    (tmp_path / "a.ped").write_text("\n".join(ped) + "\n")
    (tmp_path / "a.map").write_text("".join(f"1 rs{j} 0 {100 + j}\n" for j in range(12)))
    run = [PLINK, "--file", tmp_path / "a", "--make-bed", "--out", tmp_path / "a"]
    subprocess.run(run, check=True, capture_output=True)
    # A1 is the minor allele, as PLINK counted it.
    minor = [line.split()[4] for line in (tmp_path / "a.bim").read_text().splitlines()]
    expected = (letters == np.array(minor)[None, :, None]).sum(axis=2).astype(np.float64)
    expected[(letters == "0").any(axis=2)] = np.nan
    source = open_source(tmp_path / "a.bed")
    assert np.array_equal(source.load()[0], expected, equal_nan=True)
    assert source.target().tolist() == [1 + i % 2 for i in range(25)]
    assert list(source.names()) == [f"rs{j}" for j in range(12)]
