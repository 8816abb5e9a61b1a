"""Data that arrives while a program runs: iterators of blocks, and Redis streams."""
