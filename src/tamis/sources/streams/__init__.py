"""Data that arrive while a program runs: iterators of blocks, and Redis streams."""
