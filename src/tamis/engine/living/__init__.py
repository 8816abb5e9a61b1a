"""Living selections: runs that go on when new columns come, or after a crash."""
