"""What a run leaves on the disk: folders, logs, records, and files that survive a crash."""
