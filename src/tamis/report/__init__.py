"""Reports: what a run did, for people. They read runs, never data."""
