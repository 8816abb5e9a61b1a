"""Text formats: svmlight and CSV."""
