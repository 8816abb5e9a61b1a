"""How stores are written and read: plain .npy files, sorted runs, rows into columns."""
