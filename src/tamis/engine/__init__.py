"""The engine: runs selections faster and at larger scale than the plain loop, and records them."""
