"""Reports on runs, models and comparisons. They read what was saved, never the data."""
