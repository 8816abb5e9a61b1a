"""Tables of named columns: files, roles of columns, words, and sparse data in tables."""
