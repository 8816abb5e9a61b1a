"""Writing and reading stores: plain .npy files, sorted runs, and transposition of rows."""
