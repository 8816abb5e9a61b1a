"""
A Feast feature service from a persistent selection
===================================================

A feature store serves the columns that a model needs. Here these are the columns that a persistent
selection keeps: their names define a feature service. After the next feed, the same lines update
it.
"""

# Requires: feast
# sphinx_gallery_thumbnail_path = "images/feast.png"

import datetime as dt
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from feast import Entity, FeatureService, FeatureStore, FeatureView, Field, FileSource, RepoConfig
from feast.types import Float64
from feast.value_type import ValueType

import tamis

rng = np.random.default_rng(0)
n = 300
customers = np.arange(n)
churned = rng.integers(0, 2, n)
table = pd.DataFrame({f"f{j}": rng.normal(size=n) + (j < 3) * churned for j in range(12)})
table.insert(0, "customer", customers)

selection = tamis.Selection.create(
    "churn", churned, tamis.SAOLA("fisher_z"), pd.Series(customers, name="customer"), force=True
)
print(selection.feed(table))

# %%
# The store has all columns, and the service has those that are kept.

now = pd.Timestamp.now(tz="UTC")
table.assign(seen=now - pd.Timedelta(hours=1)).to_parquet("customers.parquet")
customer = Entity(name="customer", join_keys=["customer"], value_type=ValueType.INT64)
view = FeatureView(
    name="customers",
    entities=[customer],
    schema=[Field(name=name, dtype=Float64) for name in table.columns[1:]],
    source=FileSource(path=str(Path("customers.parquet").resolve()), timestamp_field="seen"),
    ttl=dt.timedelta(days=30),
)
service = FeatureService(name="churn_model", features=[view[selection.kept_names]])
store = FeatureStore(
    config=RepoConfig(
        project="shop",
        provider="local",
        registry="registry.db",
        entity_key_serialization_version=3,
    )
)
store.apply([customer, view, service])

# %%
# The service returns training rows with the kept columns only.

asked = pd.DataFrame({"customer": customers, "event_timestamp": now})
training = store.get_historical_features(asked, store.get_feature_service("churn_model")).to_df()
served = [name for name in training.columns if name.startswith("f")]
assert sorted(served) == sorted(selection.kept_names)
print(served)

# %%

frame = selection.run.to_frame()
colours = np.where(frame["name"].isin(served), "tab:blue", "lightgray")
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.bar(frame["name"], frame["relevance"], color=colours)
ax.set(ylabel="relevance", title="blue: served by the feature service")
plt.show()
