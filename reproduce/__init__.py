"""The papers' experiments on the data we have, and checks of their printed statistics."""
