"""Selectors for feature streams: rows are fixed, columns arrive."""
