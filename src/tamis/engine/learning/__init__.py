"""Learning from rows that stream: checkpoints, shards, tuning, saved models, predictions."""
