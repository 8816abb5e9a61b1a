"""Methods that see every column before they decide, one per file."""
