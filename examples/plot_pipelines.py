"""
Inside scikit-learn: pipelines, unions, columns, search, routing, calibration
=============================================================================

A selector can be used wherever scikit-learn takes a transformer. Its parameters can be tuned by
search, and sample weights and covariates reach it by metadata routing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import tamis

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# A pipeline, with the number of features tuned by grid search. Feature names are passed on.

model = make_pipeline(StandardScaler(), tamis.Sieve(), LogisticRegression())
search = GridSearchCV(model, {"sieve__n_features": [2, 5, 10, 20]}, cv=5).fit(X_train, y_train)
print(search.best_params_, f"{search.score(X_test, y_test):.3f}")
print(search.best_estimator_[:-1].get_feature_names_out()[:3])

# %%
# A union with principal components, and a column transformer that adds an encoded text column.

union = make_union(tamis.Sieve(n_features=5), PCA(2))
print(make_pipeline(StandardScaler(), union).fit(X_train, y_train).transform(X_test).shape)
site = pd.Series(np.where(np.arange(len(X_train)) % 3, "Bonn", "Ulm"), X_train.index, name="site")
both = make_column_transformer(
    (tamis.Sieve(n_features=5), list(X.columns)), (OneHotEncoder(), ["site"])
)
print(both.fit_transform(X_train.assign(site=site), y_train).shape)

# %%
# Metadata routing: sample weights and covariates reach the steps that request them, and no others.

weights = np.random.default_rng(0).integers(1, 4, len(X_train)).astype(float)
with sklearn.config_context(enable_metadata_routing=True):
    selector = tamis.SAOLA("fisher_z").set_fit_request(sample_weight=True, given=True)
    routed = make_pipeline(
        selector, LogisticRegression(max_iter=5000).set_fit_request(sample_weight=True)
    )
    age = X_train[["mean radius"]].to_numpy()
    routed.fit(X_train, y_train, sample_weight=weights, given=age)
print(routed[0].get_feature_names_out())

# %%
# Calibration: the selection is repeated in each fold of the calibrated model.

calibrated = CalibratedClassifierCV(model.set_params(sieve__n_features=5), cv=5).fit(
    X_train, y_train
)
predicted = calibrated.predict_proba(X_test)[:, 1]
true, mean = calibration_curve(y_test, predicted, n_bins=5)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
sizes = search.cv_results_["param_sieve__n_features"].astype(int)
score, error = (search.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
axes[0].errorbar(sizes, score, error, marker="o")
axes[0].set(xlabel="n_features", ylabel="accuracy", title="search")
axes[1].plot([0, 1], [0, 1], "k:")
axes[1].plot(mean, true, "o-")
axes[1].set(xlabel="predicted", ylabel="observed", title="calibration")
plt.show()
