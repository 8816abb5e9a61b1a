"""
Save a fitted selector: pickle, joblib, skops, ONNX
===================================================

A fitted selector is an ordinary scikit-learn estimator. pickle and joblib save it, but loading
such a file can run code. skops loads only types that you trust by name. Programs in other languages
can use ONNX, where a selector is one operator that gathers columns.
"""

# Requires: skops, onnxruntime, skl2onnx

import pickle

import joblib
import matplotlib.pyplot as plt
import numpy as np
import onnx
import onnxruntime
import skops.io
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

import tamis

X, y = load_digits(return_X_y=True)
sel = tamis.SAOLA().fit(X, y)
expected = sel.transform(X)

# %%
# pickle and joblib: the copy transforms and explains like the original.

joblib.dump(sel, "selector.joblib")
for copy in (pickle.loads(pickle.dumps(sel)), joblib.load("selector.joblib")):
    assert np.array_equal(copy.transform(X), expected)
    assert copy.why("x20") == sel.why("x20")

# %%
# skops lists the types that a file needs, before anything is loaded. Check the list, then pass it
# as trusted types. A file that needs other types is not loaded.

skops.io.dump(sel, "selector.skops")
types = skops.io.get_untrusted_types(file="selector.skops")
print(types)
assert all(name.startswith(("tamis.", "numpy.")) for name in types)
again = skops.io.load("selector.skops", trusted=types)
assert np.array_equal(again.transform(X), expected)

# %%
# ONNX: one Gather with the indices of the kept columns. The model needs neither Python nor tamis.

columns = numpy_helper.from_array(sel.kept_.astype(np.int64), "columns")
graph = helper.make_graph(
    [helper.make_node("Gather", ["X", "columns"], ["selected"], axis=1)],
    "selector",
    [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, X.shape[1]])],
    [helper.make_tensor_value_info("selected", TensorProto.FLOAT, [None, len(sel.kept_)])],
    [columns],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.checker.check_model(model)
session = onnxruntime.InferenceSession(model.SerializeToString())
(selected,) = session.run(None, {"X": X.astype(np.float32)})
assert np.array_equal(selected, expected.astype(np.float32))
print("the ONNX model has", len(model.SerializeToString()), "bytes")

# %%
# skl2onnx converts a whole pipeline, once it has a converter for the selector.

from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.algebra.onnx_ops import OnnxArrayFeatureExtractor
from skl2onnx.common.data_types import FloatTensorType
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline


def shape(operator):
    """Set the shape of the output: one column per kept feature."""
    rows = operator.inputs[0].type.shape[0]
    operator.outputs[0].type = FloatTensorType([rows, len(operator.raw_operator.kept_)])


def convert(scope, operator, container):
    """Write the selector as a gather of columns."""
    OnnxArrayFeatureExtractor(
        operator.inputs[0],
        operator.raw_operator.kept_.astype(np.int64),
        op_version=container.target_opset,
        output_names=operator.outputs,
    ).add_to(scope, container)


update_registered_converter(tamis.SAOLA, "TamisSAOLA", shape, convert)
pipeline = make_pipeline(tamis.SAOLA(), LogisticRegression(max_iter=2000)).fit(X, y)
whole = to_onnx(pipeline, X[:1].astype(np.float32), options={"zipmap": False}, target_opset=17)
session = onnxruntime.InferenceSession(whole.SerializeToString())
labels = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
print(f"the same prediction on {np.mean(labels == pipeline.predict(X)):.1%} of the rows")

# %%

fig, axes = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
axes[0].imshow(X[0].reshape(8, 8), cmap="gray_r")
axes[0].set_title("a row")
shown = np.full(64, np.nan)
shown[sel.kept_] = selected[0]
axes[1].imshow(shown.reshape(8, 8), cmap="gray_r")
axes[1].set_title("what ONNX passes on")
plt.show()
