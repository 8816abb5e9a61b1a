"""Workers that score blocks: threads, processes or a cluster; results are returned in order."""
