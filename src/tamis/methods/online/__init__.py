"""Learners for rows that arrive over time, one per file."""
