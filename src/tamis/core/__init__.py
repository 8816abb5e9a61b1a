"""The basic types: blocks of columns or rows, the target, and decisions. Needs only NumPy."""
