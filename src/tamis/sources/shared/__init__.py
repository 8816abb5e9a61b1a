"""What several readers share: text, blocks of matrices, work ahead, targets beside files."""
