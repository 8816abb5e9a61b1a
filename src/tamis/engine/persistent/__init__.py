"""Selections that live in a folder and go on when new columns come, days later."""
