"""Who examines blocks: threads, processes, a cluster; their answers come back in order."""
