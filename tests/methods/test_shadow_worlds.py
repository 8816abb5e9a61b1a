"""Shadow worlds: the selection is untouched, and decoys are judged by its own rule."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from slow_worlds import group_saola_world, osfs_world, saola_world, sieve_world

import tamis
from tamis.checks.data import assert_same_log, cases
from tamis.core.errors import InputError, ParameterError
from tamis.core.false_keeps import FalseKeeps
from tamis.core.target import Target
from tamis.engine.persistent.resuming import begin, resume
from tamis.methods.shadow_worlds import RowOrder
from tamis.sources.arrays.in_memory import MemorySource

METHODS = [
    tamis.SAOLA, tamis.OSFS, tamis.FastOSFS, tamis.Sieve,
    lambda **how: tamis.SAOLA(tamis.MutualInformation(threshold=0.0), bound="max", **how),
    tamis.GroupSAOLA,
    lambda **how: tamis.Sieve(n_features=3, **how),
    lambda **how: tamis.Sieve(n_features=None, **how),
    lambda **how: tamis.SAOLA("fisher_z", order="free", **how),
]  # fmt: skip
WORLDS = pytest.mark.parametrize("make", METHODS, ids=lambda make: str(make(shadows=3)))
OF = {tamis.SAOLA: "fisher_z", tamis.FastOSFS: "fisher_z", tamis.Sieve: "any_shape"}
CASES = pytest.mark.parametrize("case", cases(), ids=repr)


def planted(seed=0, n=120, width=60, strength=0.9):
    """Noise, with every sixth column shifted by the class; some columns are nearly copies."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, width))
    X[:, ::6] += strength * y[:, np.newaxis]
    X[:, 1::4] = X[:, ::4] + 0.3 * rng.normal(size=(n, width // 4))
    return X, y


@WORLDS
@CASES
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_selection_is_the_same_with_and_without_worlds(make, case):
    plain = make().fit(case.X, case.y)
    shadowed = make(shadows=2).fit(case.X, case.y)
    assert_same_log(shadowed.log_, plain.log_, repr(case))
    # With worlds the rule looks at every pair of a newcomer; without, it stops at the first drop.
    assert shadowed.work_ | {"pair_values": 0} == plain.work_ | {"pair_values": 0}
    assert shadowed.ranking_.tolist() == plain.ranking_.tolist()
    assert shadowed.false_keeps_.kept == len(plain.kept_)


@WORLDS
@CASES
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimates_do_not_depend_on_blocks_or_feeds(make, case):
    expected = make(shadows=3).fit(case.X, case.y)
    counts = expected.false_keeps_.worlds
    for width in (1, 7, 64):
        found = expected._to_selector().run(MemorySource(sp.csc_matrix(case.X)), case.y, width)
        assert found.false_keeps_.worlds == counts
    live = make(shadows=3).start(case.y)
    live._selector.prepare(MemorySource(case.X).columns())
    for part in np.array_split(case.X, 5, axis=1):
        live.feed(part)
    assert live.false_keeps_.worlds == counts


@pytest.mark.parametrize("world", range(3))
def test_saola_judges_decoys_like_features(world):
    X, y = planted()
    measure = tamis.FisherZ(alpha=0.1)
    found = tamis.SAOLA(measure, shadows=3).fit(X, y)._selector._shadows.worlds[world]
    expected = saola_world(lambda: tamis.SAOLA(measure), measure, X, y, world)
    assert found.features.tolist() == expected
    assert expected  # there is something to compare


@pytest.mark.parametrize("world", range(3))
@pytest.mark.parametrize("groups", [[0] * 60, [0] * 20 + [1] * 25 + [2] * 15])
def test_group_saola_judges_decoys_like_features(groups, world):
    X, y = planted()
    measure, labels = tamis.FisherZ(alpha=0.1), np.array(groups)
    fitted = tamis.GroupSAOLA(measure, shadows=3).fit(X, y, groups=labels)
    found = fitted._selector._shadows.worlds[world].features.tolist()
    one = len(set(groups)) == 1
    expected = saola_world(lambda: tamis.SAOLA(measure), measure, X, y, world)
    if not one:
        make = lambda: tamis.GroupSAOLA(measure)  # noqa: E731
        expected = group_saola_world(make, measure, X, y, labels, world)
    assert found == expected
    assert found


def test_groups_survive_the_disk(tmp_path):
    X, y = planted(2, width=400, strength=0.5)
    labels = np.arange(400) // 90
    expected = tamis.GroupSAOLA(shadows=3).fit(X, y, groups=labels).false_keeps_
    run = tmp_path / "run"
    tamis.Selection.create(run, y, tamis.GroupSAOLA("fisher_z", shadows=3))
    for part in np.array_split(np.arange(400), 7):
        names = [f"x{j}" for j in part]
        tamis.Selection.open(run).feed(X[:, part], names, groups=labels[part])
    state = tamis.Selection.open(run)._state.selector
    state.finish()
    assert state.false_keeps_ == expected
    assert expected.estimate > 0


@pytest.mark.parametrize("order", ["arrival", "free"])
def test_decoys_of_a_table_survive_the_disk(tmp_path, order):
    X, y = planted(2, width=200)
    rule = tamis.SAOLA("fisher_z", fdr=0.5, gate="batch-bh", order=order, shadows=3)
    selection = tamis.Selection.create(tmp_path / "run", y, rule)
    live = rule.start(y)
    for part in np.array_split(np.arange(200), 2):
        selection.feed(X[:, part], [f"x{j}" for j in part])
        live.feed(X[:, part], names=[f"x{j}" for j in part])
    found = tamis.Selection.open(tmp_path / "run").run.false_keeps_
    assert found == live.false_keeps_
    assert found.estimate > 0


@pytest.mark.parametrize("world", range(3))
@pytest.mark.parametrize("strength", [0.9, 0.0])
@pytest.mark.parametrize("kind", [tamis.OSFS, tamis.FastOSFS])
def test_osfs_judges_decoys_like_features(kind, strength, world):
    X, y = planted(3, width=40, strength=strength)
    measure = tamis.FisherZ(alpha=0.1)
    made = kind(measure, max_conditioning=2, shadows=3)
    found = made.fit(X, y)._selector._shadows.worlds[world]
    expected = osfs_world(
        lambda: kind(measure, max_conditioning=2), measure, X, y, world, largest=2,
        drops_itself=kind is tamis.OSFS,
    )  # fmt: skip
    assert found.features.tolist() == expected


@pytest.mark.parametrize("world", range(3))
@pytest.mark.parametrize("size", [3, 50])
def test_decoys_compete_for_the_places_of_sieve(size, world):
    X, y = planted(1)
    measure = tamis.AnyShape(alpha=0.1)
    found = tamis.Sieve(measure, n_features=size, shadows=3).fit(X, y)
    expected = sieve_world(
        lambda: tamis.Sieve(measure, n_features=size), measure, X, y, world
    )  # fmt: skip
    assert found.false_keeps_.worlds[world] == expected


@pytest.mark.parametrize("world", [0, 1])
def test_decoys_that_are_too_weak_for_a_full_pool_are_dropped(world, monkeypatch):
    """As columns are; the pool is full with eight features."""
    monkeypatch.setattr("tamis.methods.streaming.sieve.LEAST_POOL", 8)
    X, y = planted(3, width=48)
    measure = tamis.AnyShape(alpha=0.6)
    found = tamis.Sieve(measure, n_features=3, shadows=2).fit(X, y)
    assert "weak" in {found.log_.reason_of(j) for j in range(48)}
    expected, dropped = sieve_world(
        lambda: tamis.Sieve(measure, n_features=3), measure, X, y, world, capacity=8, tell=True
    )
    assert dropped
    assert found.false_keeps_.worlds[world] == expected
    held = found._selector._shadows.worlds[world].features
    assert not set(dropped) & set(held.tolist())


@WORLDS
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_numbers_survive_the_disk(make, tmp_path):
    X, y = planted(2, width=400, strength=0.5)
    expected = make(shadows=3).fit(X, y)
    run = tmp_path / "run"
    tamis.Selection.create(run, y, make(shadows=3))
    for part in np.array_split(np.arange(400), 5):
        tamis.Selection.open(run).feed(X[:, part], [f"x{j}" for j in part])
    found = tamis.Selection.open(run)
    assert found.run.false_keeps_ == expected.false_keeps_
    assert found.status()["luck"] == str(expected.false_keeps_)
    assert tamis.open_run(run).false_keeps_ == expected.false_keeps_


def test_a_withdrawn_feature_takes_its_decoy_along(tmp_path):
    X, y = planted(2, width=400, strength=0.5)
    selection = tamis.Selection.create(tmp_path / "run", y, tamis.SAOLA(shadows=3))
    selection.feed(X, [f"x{j}" for j in range(400)])
    before = selection.run.false_keeps_
    decoy = int(selection._state.selector._shadows.worlds[0].features[0])
    selection.drop(f"x{decoy}")
    after = tamis.Selection.open(tmp_path / "run").run.false_keeps_
    assert after.worlds[0] == before.worlds[0] - 1


@pytest.mark.parametrize("method", ["saola", "sieve"])
@pytest.mark.usefixtures("shared_processes")
def test_numbers_are_the_same_with_processes_and_after_a_stop(method, tmp_path):
    X, y = planted(2, width=400, strength=0.5)
    given = {"saola": tamis.SAOLA, "sieve": tamis.Sieve}[method](shadows=2)
    expected = tamis.select(X, given, y)
    store = tamis.sources.axis.write_store(tmp_path / "x.cols", MemorySource(X, y))
    assert tamis.select(store, given, cluster="local:2").false_keeps_ == expected.false_keeps_
    stop = {"features": max(1, len(expected.kept_names) - 2)}
    runs = [tamis.select(X, given, y, stop=stop, width=width) for width in (1, 17, None)]
    assert len({run.false_keeps_ for run in runs}) == 1


def test_row_orders_are_fixed_for_all_time():
    target = Target.of(np.arange(8) % 2)
    assert RowOrder.of(target, 0, 0).order.tolist() == [3, 2, 1, 6, 0, 7, 4, 5]
    assert RowOrder.of(target, 0, 1).order.tolist() != RowOrder.of(target, 0, 0).order.tolist()
    assert RowOrder.of(target, 1, 0).order.tolist() != RowOrder.of(target, 0, 0).order.tolist()


def test_estimates_are_near_the_truth_on_noise():
    counts, truth = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y, X = rng.integers(0, 2, 150), rng.normal(size=(150, 1200))
        X[:, :10] += 1.5 * y[:, np.newaxis]
        found = tamis.SAOLA(shadows=3).fit(X, y)
        counts.append(found.false_keeps_.estimate)
        truth.append(np.count_nonzero(found.kept_ >= 10))
    assert 0.75 < sum(counts) / sum(truth) < 1.3


def test_noise_that_explains_the_target_together_does_not_hide_itself():
    counts, truth = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y, X = rng.integers(0, 2, 200), rng.normal(size=(200, 2000))
        found = tamis.FastOSFS(tamis.FisherZ(alpha=0.01), shadows=3).fit(X, y)
        counts.append(found.false_keeps_.estimate)
        truth.append(len(found.kept_))
    assert 0.8 < sum(counts) / sum(truth) < 1.3  # decoys do not meet all kept features


def test_methods_that_cannot_judge_decoys_say_so():
    with pytest.raises(ParameterError, match="SFSFI cannot judge decoys"):
        tamis.SFSFI(shadows=3).fit(np.eye(4), [0, 1, 0, 1])
    fitted = tamis.SAOLA().fit(*planted())
    with pytest.raises(AttributeError):
        _ = fitted.false_keeps_
    with pytest.raises(AttributeError, match="shadows=3"):
        _ = tamis.select(*planted()[:1], "saola", planted()[1]).false_keeps_


def test_a_selection_without_worlds_cannot_be_opened_with_some(tmp_path):
    X, y = planted()
    tamis.Selection.create(tmp_path / "run", y, tamis.SAOLA()).feed(X)
    with pytest.raises(ParameterError, match=r"^the selection was made without shadow worlds"):
        tamis.Selection.open(tmp_path / "run", tamis.SAOLA(shadows=3))


def test_the_sentence():
    assert str(FalseKeeps(48, (5, 7, 10))).startswith("48 kept, about 7 ± 1 of them")
    assert "none of them" in str(FalseKeeps(48, (0, 0, 0)))
    assert FalseKeeps(48, (0, 0, 0)).about == "none"
    assert "all may be false" in str(FalseKeeps(8, (9, 9, 10)))
    assert "±" not in str(FalseKeeps(8, (3,)))
    assert FalseKeeps.of(FalseKeeps(8, (3, 2)).record()) == FalseKeeps(8, (3, 2))


# --- rows that belong together -------------------------------------------------------------------


def repeated(seed=0, patients=20, visits=10, width=600):
    """Visits of patients: columns of noise that differ between patients, not between visits."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(patients), visits)
    y = rng.permutation(patients)[who] % 2
    X = rng.normal(size=(patients, width))[who] + 0.1 * rng.normal(size=(len(who), width))
    mixed = rng.permutation(len(who))
    return X[mixed], y[mixed], who[mixed]


def test_rows_of_one_group_move_together():
    labels = np.array(["b", "a", "c", "a", "b", "c", "a", "b", "c"])
    target = Target.of(np.arange(9) % 2).adjusted(row_groups=labels)
    for world in range(5):
        order = RowOrder.of(target, 0, world).order
        assert sorted(order.tolist()) == list(range(9))
        for label in "abc":  # the rows of a group get those of one other group, in their order
            came = order[labels == label]
            assert len(set(labels[came])) == 1
            assert (np.diff(came) > 0).all()


def test_innocent_decoys_hide_the_luck_of_repeated_rows():
    X, y, who = repeated()
    together = tamis.SAOLA(shadows=3).fit(X, y, row_groups=who).false_keeps_
    innocent = tamis.SAOLA(shadows=3).fit(X, y).false_keeps_
    assert together.estimate > 4 * innocent.estimate
    assert together.estimate > 0.3 * together.kept  # all columns are noise
    assert tamis.Sieve(shadows=2).fit(X, y, row_groups=who).false_keeps_.estimate > 10


def test_row_groups_are_checked_and_saved(tmp_path):
    X, y, who = repeated(width=60)
    for wrong, message in (
        (who[1:], "one label for each row"),
        (np.zeros(len(who)), "same label in every row"),
        (np.where(who == 3, np.nan, who), "no label in row"),
    ):
        with pytest.raises(InputError, match=message):
            tamis.SAOLA(shadows=3).fit(X, y, row_groups=wrong)
    with pytest.raises(InputError, match="add shadows=3"):
        tamis.SAOLA().fit(X, y, row_groups=who)
    expected = tamis.select(X, tamis.SAOLA(shadows=3), y, row_groups=who).false_keeps_
    run = tmp_path / "run"
    tamis.Selection.create(run, y, tamis.SAOLA(shadows=3), row_groups=who)
    for part in np.array_split(np.arange(60), 3):
        tamis.Selection.open(run).feed(X[:, part], [f"x{j}" for j in part])
    assert tamis.open_run(run).false_keeps_ == expected


def test_cuts_that_look_at_the_target_are_refused():
    X, y = planted()
    with pytest.raises(ParameterError, match="equal-frequency"):
        tamis.SAOLA(encode="mdlp", shadows=3).fit(X, y)
    assert tamis.SAOLA(encode="equal-frequency", shadows=3).fit(X, y).false_keeps_.kept


@pytest.mark.parametrize("kind", [tamis.SAOLA, tamis.FastOSFS, tamis.Sieve])
def test_numbers_survive_a_driver_that_dies(kind, tmp_path):
    X, y = planted(2, width=400, strength=0.5)
    expected = kind(shadows=3, measure=OF[kind]).fit(X, y).false_keeps_
    store = tamis.sources.axis.write_store(tmp_path / "x.cols", MemorySource(X, y))
    run, deaths = tmp_path / "run", 0
    begin(run, store, kind(shadows=3, measure=OF[kind]))

    def dies(what, done, total):
        if done and done % 150 < 20 and done > 100 * deaths:
            raise KeyboardInterrupt

    for _ in range(20):
        try:
            found = resume(run, every=1e-9, width=20, progress=dies)
            break
        except KeyboardInterrupt:
            deaths += 1
    assert deaths > 1
    assert found.false_keeps_ == expected
    assert expected.estimate > 0 or kind is tamis.FastOSFS
