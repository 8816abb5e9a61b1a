"""Selections that are stored in a folder and continue when new columns arrive, even days later."""
