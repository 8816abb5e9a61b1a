"""Compiled loops: arrays in, arrays out. The only layer that imports numba."""
