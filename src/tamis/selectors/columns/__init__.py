"""What selectors of columns are built from; the methods are in `features/`, `batch/`."""
