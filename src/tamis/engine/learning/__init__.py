"""Learning from streams of rows: checkpoints, shards, tuning, saved models, predictions."""
