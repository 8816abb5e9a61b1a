"""Text formats: svmlight, and separated values."""
