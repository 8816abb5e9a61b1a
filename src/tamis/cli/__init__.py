"""The command line: one file a command. `python -m tamis` is the same."""
