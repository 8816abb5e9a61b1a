"""Tables of named columns: files, roles of columns, text columns, and sparse data in tables."""
