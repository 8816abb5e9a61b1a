"""The contract of selectors, measures and sources, as checks that anyone can run on their own."""
