"""Try to break tamis: damaged files, kills, interrupts, long runs. See docs/robustness.md."""
