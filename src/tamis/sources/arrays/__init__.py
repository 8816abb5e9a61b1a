"""Matrices in memory and in NumPy and scipy files, and generated streams."""
