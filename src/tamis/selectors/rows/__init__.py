"""What learners from rows are built from; the methods are in `instances/`."""
