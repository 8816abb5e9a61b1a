"""
Log a run to MLflow
===================

A selection has parameters, metrics and files, which is what MLflow records. MLflow's own functions
are enough to log them.
"""

# Requires: mlflow
# sphinx_gallery_thumbnail_path = "images/mlflow.png"

import matplotlib.pyplot as plt
import mlflow
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("how many features")

for size in (2, 5, 10, 20):
    with mlflow.start_run(run_name=f"sieve {size}"):
        selector = tamis.Sieve(n_features=size)
        run = tamis.select(X, selector, y)
        tamis.save_run(run, "run", force=True)
        model = make_pipeline(tamis.Sieve(n_features=size), StandardScaler(), LogisticRegression())
        mlflow.log_params({"method": "sieve", **selector.get_params()})
        mlflow.log_metric("kept", len(run.kept_names))
        mlflow.log_metric("accuracy", cross_val_score(model, X, y, cv=5).mean())
        mlflow.log_text("\n".join(run.why(name) for name in X.columns), "reasons.txt")
        mlflow.log_artifacts("run", "run")  # selected.csv, log.parquet, run.json

# %%
# ``mlflow ui --backend-store-uri sqlite:///mlflow.db`` shows the runs, and so does a query.

found = mlflow.search_runs(order_by=["metrics.kept"])
print(found[["params.n_features", "metrics.kept", "metrics.accuracy"]])

# %%

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(found["metrics.kept"], found["metrics.accuracy"], "o-")
ax.set(xlabel="features kept", ylabel="accuracy", title="from the tracking store")
plt.show()
