"""Resumable runs: the state is committed to a folder every few seconds.

The folder is a persistent selection from the start. Its history records the data of the run. If the
process is killed, another one resumes after the last committed block, on this machine or a cluster,
and ends with the same log as a run that was never stopped.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tamis.core.errors import InputError, OutputError, ParameterError, SourceError, TamisError
from tamis.core.files import atomic_folder, recover_missing
from tamis.core.masking import MASK
from tamis.core.process_memory import peak_megabytes
from tamis.core.writers import only_writer
from tamis.encode import Encoder, Missing
from tamis.engine.common_parameters import CommonParameters
from tamis.engine.encoded import EncodedSource
from tamis.engine.groups import GroupTable, grouped, read_groups, refuse_groups
from tamis.engine.known_selectors import as_selector
from tamis.engine.loop import Commits, Scorer, advance, ahead, warn_of_leaks
from tamis.engine.persistent.saved_selection import (
    cannot_be_fed,
    is_persistent,
    left_to_do,
    read_history,
)
from tamis.engine.persistent.selection import Selection
from tamis.engine.persistent.selection_state import Given, can_be_saved, started_state
from tamis.engine.persistent.state_file import Record, Version, last_version, replaced
from tamis.engine.procedure import Procedure
from tamis.engine.runs import Run, unencoded
from tamis.engine.seen_columns import target_hashes
from tamis.engine.selecting import Watch, adjustments_of, describe_run, row_roles, watched
from tamis.engine.stopping import Stopper
from tamis.engine.workers.executors import executor
from tamis.kernels.threads import threads
from tamis.sources import open_source
from tamis.sources.addresses import from_here
from tamis.sources.aside import arranged, names_of
from tamis.sources.axis import to_columns
from tamis.sources.base import ColumnSource, Progress, silent

#: Seconds between two commits.
EVERY = 2.0


def begin(
    folder: str | os.PathLike[str],
    source: ColumnSource,
    selector: Any,
    reading: dict[str, Any] | None = None,
    *,
    task: str = "auto",
    encode: Encoder | str | None = None,
    missing: Missing | str = "auto",
    keep: Any = None,
    given: Any = None,
    sample_weight: str | None = None,
    row_groups: str | None = None,
    groups: GroupTable | None = None,
    stop: Any = None,
    rows: ColumnSource | None = None,
    name: str = "",
    command: str = "",
    seconds: dict[str, float] | None = None,
    repeats: dict[str, Any] | None = None,
    force: bool = False,
) -> Version | None:
    """Create a run folder for `resume` to work on; no feature is decided yet.

    Returns what identifies it, for `alone`.

    Parameters
    ----------
    folder : path
        The folder of the run.
    source : ColumnSource
        Columns on disk, at the path that `tamis.open` was given.
    selector : str, rule, estimator or selector
        A method for feature streams (a copy is used).
    reading : dict, optional
        How the source was opened.
    task, encode, missing, stop
        As for `tamis.select`.
    keep, given, sample_weight, row_groups
        Columns, as for `tamis.select`, the last three by name.
    groups : GroupTable, optional
        The groups of columns, from a file that `resume` reads again.
    rows : ColumnSource, optional
        The source from which the columns were made, which may know more about its rows.
    name, command, seconds : str, str, dict
        Name of the data, command of the run, and seconds spent before.
    repeats : dict, optional
        What is to be repeated on parts of the rows when all columns are decided:
        ``{"judge": "linear", "stability": 25}`` (`tamis.evaluate.resuming`).
    force : bool
        Replace an existing run.
    """
    chosen: Any = as_selector(selector)
    if not can_be_saved(chosen):
        raise ParameterError(
            f"{cannot_be_fed(chosen.method)}; it runs without --checkpoint, but starts over "
            "if it is stopped"
        )
    requested = CommonParameters(task=task, encode=encode, missing=missing, keep=keep, stop=stop)
    common = CommonParameters.of(selector, requested)
    target = common.target(chosen, source.target())
    target.refuse_constant()
    aside: Record = {
        "sample_weight": sample_weight,
        "given": None if given is None else names_of(given),
        "row_groups": row_groups,
    }
    by_name = all(isinstance(one, str | None) for one in (sample_weight, row_groups))
    if not by_name or aside["given"] == []:
        raise ParameterError(
            "a run that can be resumed takes weights and covariates from columns of the data; give "
            "their names"
        )
    found = arranged(source, sample_weight, given, common.keep, row_groups)
    columns, chosen.required = found.columns, found.n_required
    target = target.adjusted(found.weights, found.covariates, found.row_groups)
    if found.n_required and found.positions is not None:
        aside["keep"] = found.positions[: found.n_required].tolist()
    procedure = Procedure.of(
        chosen, common, target.task, (rows or source).target_name, given=given,
        sample_weight=sample_weight, row_groups=row_groups, groups=groups,
    )  # fmt: skip
    state = started_state(chosen, target, common, source.name_prefix, source.name_base)
    state.know_rows(source)
    if rows is not None:
        state.know_rows(rows)
    info, path, reading = source.info(), source.path, dict(reading or {})
    if path is None:
        raise InputError(
            "only columns in a file or a folder can be selected from resumably; write them to one "
            "with tamis convert, or leave --checkpoint out"
        )
    if "y" in reading:
        reading["y"] = os.path.abspath(reading["y"])
    # Where the columns are, so that a process started in another directory finds them.
    request: Record = {"path": from_here(path), "reading": {"format": source.format, **reading}}
    if groups is not None:
        refuse_groups(chosen)
        grouped(columns, groups)  # which says what is wrong with them
        request["groups"] = {"path": groups.path, "fingerprint": groups.fingerprint}
    request["aside"] = aside
    if repeats:
        request["repeats"] = repeats
    encoded = unencoded(0, 0) if state.encoded is None else state.encoded.encoding.record()
    ending = {} if state.stop is None else {"stop": state.stop.settings()}
    facts = vars(info) | encoded | {"name": name} | ending | row_roles(rows or source)
    facts |= adjustments_of(target, sample_weight, row_groups)
    facts |= found.record(int(source.n_columns or 0))
    with atomic_folder(folder, "run", force=force) as work:
        run = describe_run(chosen, state.log, facts, target, seconds, command)
        run.procedure = procedure.record()
        state.create(work, run, _line(name, info.fingerprint, 0) | {"asked": request})
    return state.version


@contextlib.contextmanager
def alone(folder: str | os.PathLike[str], begun: Version | None = None) -> Iterator[None]:
    """Lock a run from its columns to its last repeat, so that no other process comes in between.

    With what `begin` returned, a folder that another process has replaced since is refused.
    """
    path = Path(folder)
    recover_missing(path)
    with contextlib.ExitStack() as stack:
        if is_persistent(path):
            with contextlib.suppress(OSError, sqlite3.Error):  # `resume` says what is wrong
                stack.enter_context(only_writer(path, wait=False))
        if begun is not None and last_version(path) != begun:
            raise replaced(path)
        yield


def _line(name: str, fingerprint: str, columns: int, *, done: bool = False) -> Record:
    """Return an entry for the history."""
    return {
        "action": "select", "source": name, "fingerprint": fingerprint, "columns": columns,
        "taken": columns, "done": done,
    }  # fmt: skip


def resume(
    folder: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    cluster: Any = None,
    width: int | None = None,
    n_jobs: int | None = None,
    every: float = EVERY,
    progress: Progress = silent,
    watch: Watch | None = None,
    say: Callable[[str], object] = lambda sentence: None,
    selector: Given = None,
) -> Run:
    """Resume a run that was stopped, after the last block that it committed.

    Parameters
    ----------
    folder : path
        A folder that ``tamis select --checkpoint`` or ``--cluster`` began.
    data : path, optional
        The present location of the data, if it has moved or its address contains a password
        (passwords are not recorded).
    cluster, width, n_jobs, report, watch
        As for `tamis.select`; they may differ from those the run began with, and cannot change the
        answer.
    every : float
        Seconds between two commits.
    say : callable, optional
        Called with a message that says where the run resumes.
    selector : selector or class, optional
        As for `Selection.open`.
    """
    selection = Selection.open(folder, selector)
    line, request = begun_with(selection.history, folder)
    if line["done"]:
        if not selection.status()["must_be_resumed"]:
            say(f"{folder} is finished; nothing is left to do")
        return selection.run
    begun, columns = time.perf_counter(), data_again(folder, line, request, data)
    if "aside" in request:
        columns = arranged(columns, **request["aside"]).columns
    columns = grouped(columns, _groups_again(request.get("groups"), folder))
    with contextlib.ExitStack() as stack:
        if n_jobs is not None:
            stack.enter_context(threads(n_jobs))
        execute = None if cluster is None else stack.enter_context(executor(cluster))
        state = stack.enter_context(selection._writing(False, say))
        line, _ = begun_with(state.history, folder)
        if state.selector.n_features_in_ != line["columns"]:
            raise SourceError(
                f"{folder} holds columns of something else after those of {line['source']}; run "
                "tamis select again"
            )
        if line["columns"]:
            say(f"resuming after column {line['columns']:,} of {line['source']}")
        if state.encoded is not None:
            columns = EncodedSource(columns, state.encoded.encoding, state.target)
        # Workers get a selector that has seen no columns, which is small: scoring needs no more.
        chosen, blank = state.selector, state.selector.fresh()
        blank.start(state.target, name_prefix=columns.name_prefix, name_base=columns.name_base)
        for one in (blank, chosen):
            one.prepare(columns.columns())
        at_hand = execute is None or not columns.portable

        def commit(end: int, *, done: bool = False) -> None:
            state.fetch(columns)
            state.commit(_line(line["source"], line["fingerprint"], end, done=done))

        scorer, start = Scorer(blank, state.target, True, at_hand, chosen), line["columns"]
        advance(
            chosen,
            ahead(scorer, columns.columns(width, start, progress=progress)) if execute is None
            else execute(scorer, columns, width, progress, start),
            state, Commits(commit, every), total=columns.n_columns, whole=True,
            stopper=None if state.stop is None
            else Stopper(state.stop, chosen, state.target, state.columns).over(columns),
            progress=progress if watch is None else watched(progress, lambda: watch(state.run)),
        )  # fmt: skip
        facts, spent = state.head["run"], time.perf_counter() - begun
        facts["seconds"]["select"] = facts["seconds"].get("select", 0.0) + spent
        facts["peak_megabytes"] = peak_megabytes()
        equal = state.seen.with_values(target_hashes(state.target))[:1].tolist()
        leak = state.log.names[equal[0]] if equal else None
        if notes := warn_of_leaks(leak, state.selector, state.target):
            facts["source"]["notes"] = notes
        commit(len(state.log), done=True)
        state.export()
        run = state.run()
        run.selector = state.selector
    return run


def data_again(
    folder: Any, line: Record, request: Record, data: str | os.PathLike[str] | None = None
) -> ColumnSource:
    """Open the data that a run began with, or raise an error if it has changed."""
    place = data or request["path"]
    if MASK in str(place):
        raise SourceError(
            f"the password of {place} was not recorded; give the whole address with --data (data=)"
        )
    source = open_source(place, **request["reading"])
    if source.fingerprint() != line["fingerprint"]:
        raise SourceError(
            f"{place} is not what it was when {folder} was begun; run tamis select again"
        )
    return to_columns(source)


def _groups_again(request: dict[str, str] | None, folder: Any) -> GroupTable | None:
    """Return the groups that a run was started with."""
    if request is None:
        return None
    groups = read_groups(request["path"])
    if groups.fingerprint != request["fingerprint"]:
        raise SourceError(
            f"{request['path']} is not what it was when {folder} was begun; run tamis select again"
        )
    return groups


def refuse_unfinished(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise a one-sentence error if a folder holds a run that `resume` would continue."""
    if force or not is_persistent(Path(folder)):
        return
    unfinished = False
    with contextlib.suppress(TamisError):  # nothing that could be resumed
        unfinished = left_to_do(read_history(folder)) != ""
    if unfinished:
        raise OutputError(
            f"{folder} holds a run that is not finished; resume it: tamis resume "
            f"{shlex.quote(os.fspath(folder))}; or choose another folder, or use --force"
        )


def begun_with(history: list[Record], folder: Any) -> tuple[Record, dict[str, Any]]:
    """Return the last history entry of the selection, and its request."""
    lines = [line for line in history if line["action"] == "select"]
    if not lines or "asked" not in history[0]:
        raise SourceError(
            f"{folder} was not begun by tamis select --checkpoint or --cluster, so there is "
            "nothing to resume; feed it with tamis feed"
        )
    return lines[-1], history[0]["asked"]
