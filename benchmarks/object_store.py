"""A column store on a web server with a latency of 20 ms: requests and seconds.

Each set is read from front to back by the plain loop (one read after the other, a request for each
part of a block) and as `ColumnStore` reads from an address (adjacent blocks in one request, several
requests under way). The server is in another process of this machine; each answer waits for 20 ms
before its first byte, as that of an object store does. Both ways take turns; the figures are those
of the fastest of three rounds, with the CPU seconds of the reader.
"""

from __future__ import annotations

import http.server
import multiprocessing
import os
import tempfile
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._harness import Report
from tamis.sources.arrays.in_memory import MemorySource
from tamis.sources.axis import write_store
from tamis.sources.base import ColumnRange, ColumnSource, silent
from tamis.sources.stores.column_store import ColumnStore

LATENCY, ROUNDS = 0.02, 3
MEGABYTES = int(os.environ.get("STORE_MEGABYTES", 400))
#: The short form, for `make bench`.
SHORT: dict[str, Any] = {"MEGABYTES": 10}


class _Late(http.server.SimpleHTTPRequestHandler):
    """Serves ranges of files, late, and counts the requests."""

    protocol_version = "HTTP/1.1"
    requests = 0

    def do_GET(self) -> None:
        """Send a range of a file."""
        type(self).requests += 1
        time.sleep(LATENCY)
        if self.path == "/count":
            self._send(200, str(type(self).requests).encode(), {})
            return
        path = self.translate_path(self.path)
        size = os.stat(path).st_size
        lo, _, hi = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        first, last = int(lo), min(int(hi), size - 1) if hi else size - 1
        with open(path, "rb") as file:
            file.seek(first)
            data = file.read(last - first + 1)
        span = {"Content-Range": f"bytes {first}-{last}/{size}", "Accept-Ranges": "bytes"}
        self._send(206 if "Range" in self.headers else 200, data, span)

    def _send(self, code: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _serve(folder: str, port: Any) -> None:
    def handler(*args: Any) -> _Late:
        return _Late(*args, directory=folder)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        port.value = server.server_port
        server.serve_forever()


def stores(folder: str) -> dict[str, int]:
    """Write a dense and a sparse store; return their bytes."""
    rng, found = np.random.default_rng(0), {}
    rows = 2_000
    y = rng.integers(0, 2, rows)
    dense = rng.standard_normal((rows, MEGABYTES * 1_000_000 // 4 // rows), dtype=np.float32)
    counts = np.full(MEGABYTES * 1_000_000 // (8 + 8 * 6), 6)
    indices = np.sort(rng.integers(0, rows, (len(counts), 6)), axis=1).ravel().astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    sparse = sp.csc_matrix((rng.random(len(indices)), indices, indptr), shape=(rows, len(counts)))
    sparse.sum_duplicates()
    for name, X in (("dense.cols", dense), ("sparse.cols", sparse)):
        store = write_store(f"{folder}/{name}", MemorySource(X, y))
        found[name] = store.details()["bytes"]
    return found


def main() -> None:
    import urllib.request

    report, lines = Report("object_store", __doc__ or ""), []
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        sizes = stores(folder)
        port = multiprocessing.Value("i", 0)
        server = multiprocessing.Process(target=_serve, args=(folder, port), daemon=True)
        server.start()
        while not port.value:
            time.sleep(0.01)
        place = f"http://127.0.0.1:{port.value}"

        def requests() -> int:
            with urllib.request.urlopen(f"{place}/count") as answer:
                return int(answer.read()) - 1

        for name, narrow in (("dense.cols", 100), ("sparse.cols", 20_000)):
            store, size = ColumnStore(f"{place}/{name}"), sizes[name] / 1e6
            for width in (None, narrow):
                best: dict[str, dict[str, Any]] = {}
                for _ in range(ROUNDS):
                    ways = {
                        "one after the other": ColumnSource.blocks(
                            store, ColumnRange(width, 0, None, silent)
                        ),
                        "few, and ahead": store.columns(width),
                    }
                    for way, blocks in ways.items():
                        before, cpu, begun = requests(), time.process_time(), time.perf_counter()
                        widths = [block.width for block in blocks]
                        seconds = time.perf_counter() - begun
                        line = {
                            "store": name, "MB": size, "columns": sum(widths),
                            "columns per block": widths[0], "requests": way,
                            "seconds": seconds, "CPU s": time.process_time() - cpu,
                            "MB per s": size / seconds, "number": requests() - before - 1,
                        }  # fmt: skip
                        best[way] = min(line, best.get(way, line), key=lambda one: one["seconds"])
                lines += best.values()
        server.terminate()
        server.join()
    report.table(f"Reading from a server with a latency of {LATENCY * 1e3:.0f} ms", lines)
    report.save()


if __name__ == "__main__":
    main()
