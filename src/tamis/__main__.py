"""Run the command line: ``python -m tamis``."""

from tamis.cli.main import run

run()
