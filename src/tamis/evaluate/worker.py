"""A worker process: reads tasks as lines of JSON, and writes one line per finished step.

Started by `pool.py` as ``python -m tamis.evaluate.worker``, so that it shares nothing with the
calling process and can be killed at any time. A task names a data folder, a fold, a method and the
classifiers; the answers are ``{"begin": step}`` and ``{"end": step, "record": {...}}``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from tamis.evaluate.cells import failure, judge, select_features, warm_up
from tamis.evaluate.compared_methods import ComparedMethod
from tamis.evaluate.datasets import map_data

_data = lru_cache(maxsize=2)(map_data)


def run_task(task: dict[str, Any], send: Callable[..., None], warm: set[str]) -> None:
    """Run the selection if needed, then every classifier; send each finished step."""
    send(begin="ready")
    X, codes = _data(task["folder"])
    train, test = (np.load(f"{task['fold']}.{part}.npy") for part in ("train", "test"))
    y, truth = codes[train], codes[test]
    rows, kept = X[train], task["kept"]
    columns = rows.tocsc() if sp.issparse(rows) else rows
    if kept is None:
        method = ComparedMethod(**task["method"])
        name = json.dumps([task["method"], task["folder"]])
        if name not in warm:
            warm.add(name)
            warm_up(method, columns, y)
        send(begin="selection")
        try:
            record = select_features(method, task["seed"], columns, y, task["shares"])
        except Exception as error:
            record = failure(error)
        send(end="selection", record=record)
        kept = record.get("kept")
    for classifier in task["classifiers"] if kept is not None else ():
        send(begin=classifier)
        scores = []
        try:
            for one in kept:
                features = None if one["features"] is None else np.array(one["features"], np.int64)
                scores.append(judge(classifier, task["seed"], features, columns, X[test], y, truth))
            record = {**scores[-1], "over": scores}
        except Exception as error:
            record = failure(error)
        send(end=classifier, record=record)
    send(end="task", record={})


def _end_with(parent: int) -> None:
    """Exit when the parent process has ended, even in the middle of a cell."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    """Run tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    # The output of a method must not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    warm: set[str] = set()  # methods whose kernels are compiled

    def send(**message: Any) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in sys.stdin:
        message = json.loads(line)
        if "path" in message:
            sys.path[:] = message["path"]
        else:
            run_task(message, send, warm)


if __name__ == "__main__":
    main()
