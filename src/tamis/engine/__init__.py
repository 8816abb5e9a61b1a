"""The engine: the same answer as the plain loop, faster and further, with a record of it."""
