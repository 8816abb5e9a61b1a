"""The command line: one file per command. `python -m tamis` is equivalent."""
