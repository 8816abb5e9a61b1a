"""The papers' experiments on the data we have, and what their printed numbers say by themselves."""
