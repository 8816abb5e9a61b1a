"""PlinkSource: genotypes in PLINK 1 binary files, .bed with .bim and .fam, through bed-reader.

The .bed file holds one SNP after another, two bits per individual, so SNPs stream as columns at no
extra cost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tamis.core.blocks import ColumnBlock, RowBlock
from tamis.core.errors import SourceError, need, one_sentence
from tamis.core.names import Names
from tamis.kernels.threads import thread_count
from tamis.sources.base import ColumnSource, Progress, RowSource, as_path, short_hash
from tamis.sources.matrix import one_for_each_row
from tamis.sources.omics.phenotypes import phenotype, read_phenotypes
from tamis.sources.text_files import TextFile

#: Bytes of genotypes held per pass over the file when it is read by rows.
_PASS = 1 << 28
_NO_CALL = -127
_HEAD = 3
_INDIVIDUAL_MAJOR = 0


class PlinkSource(ColumnSource, RowSource):
    """Individuals are rows; SNPs are columns, named by their id in the .bim file.

    A value is the number of copies of allele 1 (A1 of the .bim file, in most files the minor
    allele): 0, 1 or 2, and NaN where there is no call. A SNP whose id is "." is named by
    chromosome and position.

    Parameters
    ----------
    path : str or path
        The .bed file; the .bim and .fam files of the same name are next to it.
    y : array, str or path, optional
        The target: an array, an .npy file, or a text file of phenotypes in PLINK's format (family,
        individual, values; a first line that begins with FID names the columns). By default the
        sixth column of the .fam file.
    target : str, optional
        Name of the column in the file of phenotypes; by default the first.
    """

    format: ClassVar[str] = "plink"

    path: str
    n_rows: int = 0
    n_columns: int = 0

    def __init__(
        self, path: str | os.PathLike[str], y: Any = None, target: str | None = None
    ) -> None:
        self.path = as_path(path)
        stem = os.path.splitext(self.path)[0]
        self._parts = [TextFile(path) for path in (self.path, stem + ".bim", stem + ".fam")]
        with open(self.path, "rb") as file:
            head = file.read(_HEAD)
        if len(head) < _HEAD or head[:2] != b"\x6c\x1b":
            raise SourceError(
                f"{self.path} is not a PLINK 1 .bed file: its first bytes are wrong; "
                "write it with plink --make-bed"
            )
        self._library = need("bed_reader", extra="plink", what_for="reading a PLINK .bed file")
        with self._one_sentence(), self._opened(None, None) as bed:
            self.n_rows, self.n_columns = int(bed.iid_count), int(bed.sid_count)
            self._check_size(head[2])
            self._names = Names.of(_called(bed))
            self._individuals = np.char.add(np.char.add(bed.fid, "\t"), bed.iid)
            self._in_fam = np.asarray(bed.pheno)
        self._given, self._column = y, target
        self._y: npt.NDArray[Any] | None = None

    def names(self) -> Names:
        """Return the names of the SNPs."""
        return self._names

    def missing_target(self) -> str | None:
        """Return how to give a target, or None if there is one."""
        if self.target() is not None:
            return None
        return "nobody in its .fam file has a phenotype; name a file of phenotypes with --y (y=)"

    def target(self) -> npt.NDArray[Any] | None:
        """Return the given target, or the phenotypes in the .fam file; None if all are missing."""
        if self._y is None and self._given is None:
            self._y = phenotype(self._in_fam, self._parts[2].path)
        elif self._y is None:
            y = self._given
            if isinstance(y, (str, os.PathLike)):
                y = read_phenotypes(as_path(y), self._individuals, self._column)
            self._y = None if y is None else one_for_each_row(y, self.path, self.n_rows)
        return self._y

    def row_names(self) -> npt.NDArray[Any]:
        """Return the ids of the individuals."""
        return np.array([name.partition("\t")[2] for name in self._individuals.tolist()])

    def read(self, lo: int, hi: int) -> ColumnBlock:
        """Return SNPs lo to hi - 1."""
        with self._opened(self.n_rows, self.n_columns) as bed:
            calls = self._calls(bed, np.s_[:, lo:hi], "float64")
        return ColumnBlock(lo, self.n_rows, calls, self._names.part(lo, hi))

    def rows(self, size: int | None, progress: Progress) -> Iterator[RowBlock]:
        """Stream blocks of `size` individuals, with one pass over the file per 256 MB of calls."""
        held = np.empty((0, self.n_columns), dtype=np.int8)
        first = end = 0
        per_pass = max(1, _PASS // max(1, self.n_columns))

        def read(lo: int, hi: int) -> npt.NDArray[np.float64]:
            nonlocal held, first, end
            if hi > end:
                first, end = lo, min(self.n_rows, max(hi, lo + per_pass))
                held = self._calls(bed, np.s_[first:end, :], "int8")
            part = held[lo - first : hi - first]
            return np.ascontiguousarray(np.where(part == _NO_CALL, np.nan, part))

        with self._opened(self.n_rows, self.n_columns) as bed:
            yield from self._row_ranges(read, size, progress, "reading rows across columns")

    def details(self) -> dict[str, Any]:
        """Return additional details for `tamis info`."""
        return {"bytes": self._parts[0].size}

    def fingerprint(self) -> str:
        """Return a short hash of the bytes of the three files and of the target."""
        y = self.target()
        values = b"" if y is None else np.ascontiguousarray(y.astype(str)).tobytes()
        return short_hash(*(part.fingerprint() for part in self._parts), values)

    def _opened(self, n_rows: int | None, n_columns: int | None) -> Any:
        """Open the files; if the shape is given, the .bim and .fam files are not read again."""
        return self._library.open_bed(self.path, n_rows, n_columns, num_threads=thread_count())

    def _one_sentence(self) -> AbstractContextManager[None]:
        what = f"{self.path} and the .bim and .fam files next to it cannot be read"
        return one_sentence(what, "write them again")

    def _calls(self, bed: Any, index: Any, dtype: str) -> npt.NDArray[Any]:
        with self._one_sentence():
            return np.asarray(bed.read(index, dtype=dtype, order="F"))

    def _check_size(self, order: int) -> None:
        """Compare the length of the .bed file with the counts of the other two."""
        shape = (self.n_rows, self.n_columns)
        inner, outer = reversed(shape) if order == _INDIVIDUAL_MAJOR else shape
        wanted = _HEAD + (inner + 3) // 4 * outer
        if self._parts[0].size != wanted:
            raise SourceError(
                f"{self.path} has {self._parts[0].size} bytes, and {self.n_rows} individuals in "
                f".fam with {self.n_columns} SNPs in .bim make {wanted}; one of the three files is "
                "truncated or belongs to different data"
            )


def _called(bed: Any) -> npt.NDArray[Any]:
    """Return the ids of SNPs, and chromosome:position for those without one."""
    ids = np.asarray(bed.sid).astype(np.str_)
    nameless = ids == "."
    if nameless.any():
        chromosomes = np.char.add(np.asarray(bed.chromosome).astype(np.str_), ":")
        indices = np.char.add(chromosomes, np.asarray(bed.bp_position).astype(np.str_))
        ids = np.where(nameless, indices, ids)
    return ids
