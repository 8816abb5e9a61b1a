"""Coverage-guided fuzzing of the text readers with atheris, which must be installed.

    pip install atheris
    NUMBA_DISABLE_JIT=1 python -m soak.guided svmlight CORPUS -max_total_time=3600
    NUMBA_DISABLE_JIT=1 python -m soak.guided CSV CORPUS -max_total_time=3600

The kernels run as plain Python, so that their branches are seen, and so that a byte read beyond the
end of the text is an error. CORPUS is a folder of inputs; an empty one is filled with soak/seeds,
and new ones are added to it. `python -m soak` damages the seeds as well.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path


def main() -> None:
    """Fuzz one reader until atheris stops."""
    import atheris

    name, corpus = sys.argv.pop(1), Path(sys.argv[1])
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["tamis"]):
        from soak.reader import differ, seeds
        from soak.readers import READERS
        from tamis.core.errors import TamisError

        reader, folder = READERS[name], Path(tempfile.mkdtemp(prefix="soak-guided-"))
        path = folder / ("a.svm" if name == "svmlight" else "a.csv")
        path.write_text("1 1:2\n" if name == "svmlight" else "a,y\n1,2\n")
        reader.read(path)  # modules are imported when they are needed

    if not any(corpus.iterdir()):
        for k, text in enumerate(seeds(name)):
            (corpus / f"seed-{k}").write_bytes(text)

    def try_one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            ours = reader.read(path)
        except TamisError:
            return
        try:
            theirs = reader.peer(path, path)
        except Exception:  # the other reader refuses it
            return
        if theirs is not None and (found := getattr(reader, "compare", differ)(ours, theirs)):
            raise AssertionError(f"{found} in {data!r}")

    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
