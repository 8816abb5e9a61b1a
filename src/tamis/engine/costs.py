"""Costs of features, from a file."""

from __future__ import annotations

import csv
import math
import os

from tamis.core.errors import SourceError
from tamis.core.files import reason

HEADER = ["name", "cost"]


def read_costs(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read a CSV file with the header name,cost: one line per feature."""
    where, costs = os.fspath(path), dict[str, float]()
    try:
        with open(where, encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            if [cell.strip() for cell in next(lines, [])] != HEADER:
                raise SourceError(f"{where}: the first line must be {','.join(HEADER)}")
            for line in lines:
                if not line:
                    continue
                at = f"{where}, line {lines.line_num}"
                try:
                    name, cost = line[0], float(line[1])
                except (IndexError, ValueError):
                    cost = math.nan
                if len(line) != 2 or not math.isfinite(cost):
                    raise SourceError(f"{at}: {','.join(line)!r} is not a name and a number")
                if name in costs:
                    raise SourceError(f"{at}: {name!r} has a cost already; remove one of the lines")
                costs[name] = cost
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{where} cannot be read as a table ({reason(error)})") from error
    return costs
