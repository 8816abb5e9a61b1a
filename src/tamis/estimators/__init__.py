"""scikit-learn's interface to the methods; only this package and `evaluate` import scikit-learn."""
