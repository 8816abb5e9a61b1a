"""The default selector against the usual baselines, on many data sets."""
