"""Selections that are kept in a folder and resume when new columns arrive, days later."""
