"""
A messy table, from the file to a model
=======================================

Text, missing values, a date, an identifier, a column repeated in other units: the (generated) table
is used without preparation. Its profile lists what may be wrong, and gives a command that works.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tamis

rng = np.random.default_rng(0)
n = 400
area = rng.gamma(9, 10, n).round(1)
built = rng.integers(1900, 2024, n)
city = rng.choice(["Lyon", "Metz", "Paris"], n, p=[0.4, 0.4, 0.2])
price = area * np.select([city == "Paris", city == "Lyon"], [9000, 4000], 2500)
price = price * (1 + ((built - 1965) / 60) ** 2) * rng.lognormal(0, 0.15, n)
houses = pd.DataFrame(
    {
        "id": [f"H{k:05}" for k in rng.permutation(n)],
        "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D"),
        "city": city,
        "area": area,
        "area_sqft": (area * 10.764).round(),
        "built": np.where(rng.random(n) < 0.1, np.nan, built),
        "colour": rng.choice(["white", "grey", "yellow"], n),
        "agent": rng.integers(1, 30, n),
        "price": price.round(-3),
    }
)
houses.to_csv("my_houses.csv", index=False)

# %%
# What does the file hold? On the command line: ``tamis info my_houses.csv --target price``.

profile = tamis.profile("my_houses.csv", target="price")
for finding in profile.suspicious:
    print(finding)
print(profile.command)

# %%
# Select: ``tamis select my_houses.csv --target price --ignore id --out run``.

run = tamis.select(tamis.open("my_houses.csv", target="price", ignore=["id"], dates="ignore"))
frame = run.to_frame()
print(frame[["name", "verdict", "relevance"]].to_string(index=False))

# %%
# The reasons, one sentence each. The data is generated so that the price falls and then rises with
# the year, which a test for a trend misses.

for name in ("built", "area_sqft", "colour"):
    print(run.why(name))

# %%

frame = frame.sort_values("relevance")
colours = frame["verdict"].map({"kept": "tab:blue", "redundant": "tab:orange"}).fillna("lightgray")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].barh(frame["name"], frame["relevance"], color=colours)
axes[0].set_title("relevance (blue: kept, orange: redundant)")
axes[1].scatter(built, price / area, s=6)
axes[1].set(title="why `built` is kept", xlabel="built", ylabel="price per square metre")
plt.show()
