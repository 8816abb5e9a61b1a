"""Rows from front to back, for learners: whatever holds them, read once, in order."""
