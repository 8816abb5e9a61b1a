"""Write a store beside its destination and move it there in the last step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from tamis.core.files import Partial, check_folder
from tamis.sources.stores.store_files import META, GrowingFile


class FolderWriter:
    """A store that is being written; a context manager.

    `folder` is the hidden folder that becomes the store. Temporary files may lie in it too; they
    must be removed before the store is finished. Subclasses set `KIND`.
    """

    KIND: ClassVar[str]

    def __init__(self, path: str, *, force: bool = False) -> None:
        check_folder(path, self.KIND, force=force)
        self.path = os.path.realpath(path)
        self.force = force
        self._files: dict[str, GrowingFile] = {}
        self._partial = Partial(Path(self.path), folder=True)

    def __enter__(self) -> Self:
        try:
            self.folder = str(self._partial.__enter__().path)
        except BaseException:  # Ctrl-C may come when the folder has just been made
            self._partial.discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._close()
        finally:
            self._partial.__exit__(kind, error, trace)

    def _close(self) -> None:
        """Close the files that are still open."""
        for file in self._files.values():
            file.close()

    def _open(self, name: str, dtype: Any) -> GrowingFile:
        self._files[name] = GrowingFile(os.path.join(self.folder, name), dtype)
        return self._files[name]

    def _finish(self, meta: dict[str, Any]) -> None:
        """Write meta.json and move the store to its destination."""
        with open(os.path.join(self.folder, META), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
        self._partial.publish(force=self.force)
