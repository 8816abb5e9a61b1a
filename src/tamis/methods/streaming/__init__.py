"""Methods for feature streams: rows are fixed, columns arrive."""
