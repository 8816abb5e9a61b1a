"""Selectors that see every column before they decide, one a file."""
