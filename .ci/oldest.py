"""Print the oldest version of each dependency that pyproject.toml allows, for uv --overrides."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
groups = [project["dependencies"], *project["optional-dependencies"].values()]
for requirement in sorted({line for group in groups for line in group}):
    bound = re.match(r"([\w.-]+)>=([\w.]+)", requirement)
    if bound:
        print(f"{bound[1]}=={bound[2]}")
