"""Learners for rows that arrive over time, one a file."""
