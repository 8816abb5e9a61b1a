"""Write benchmark tables into the documentation."""

from __future__ import annotations

from benchmarks._harness import ROOT, is_short


def fill(page: str, name: str, text: str) -> None:
    """Replace the text between ``<!-- NAME -->`` and ``<!-- end of NAME -->`` in docs/PAGE.

    The short form of a benchmark leaves the documentation as it is.
    """
    if is_short():
        return
    path = ROOT / "docs" / page
    before, begin, rest = path.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    if not begin or not end:
        raise SystemExit(f"{path} has no section {name!r}")
    path.write_text(f"{before}{begin}{text.strip()}\n{end}{after}", encoding="utf-8")
