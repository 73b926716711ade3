from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import marginbandits as mb
from marginbandits.contexts import as_sparse
from marginbandits.features import feature_map
from marginbandits.types import Array
from tests import naive


def started(recipe: mb.FeatureMap, rows: Array, *, seed: int = 0) -> mb.FeatureMap:
    features = recipe.start(rows.shape[1], np.random.default_rng(seed))
    for row in rows:
        features.observe(row[None])
    return features


def arrays(features: mb.FeatureMap) -> dict[str, npt.NDArray[Any]]:
    return {name: field.array for name, field in features.fields().items()}


@pytest.fixture
def rows() -> Array:
    """Columns of many sizes, one constant, one heavy-tailed, one rarely 1; outliers before and after 25 rows."""
    rng = np.random.default_rng(0)
    scaled = rng.standard_normal((300, 8)) * [1, 1e6, 1e-6, 3, 0, 1, 1, 1] + [0, 1e7, 1e-3, -5, 4, 1e3, 0, 0]
    scaled[:, 6], scaled[:, 7] = rng.standard_cauchy(300), rng.random(300) < 0.02
    scaled[5, 0] = scaled[100, 3] = scaled[5, 5] = scaled[120:125, 5] = 1e4
    return np.asarray(scaled)


def test_standardise_agrees_with_its_twin(rows: Array) -> None:
    features = started(mb.Standardise(clip=3.0), rows)
    assert np.allclose(features.transform(rows), naive.standardise(rows, rows, 3.0), atol=1e-6)


def test_standardise_does_not_look_ahead(rows: Array) -> None:
    features = started(mb.Standardise(), rows[:50])
    assert np.allclose(features.transform(rows), naive.standardise(rows[:50], rows, 5.0), atol=1e-6)


def test_frozen_statistics_stop_at_the_given_row(rows: Array) -> None:
    frozen = started(mb.Standardise(freeze_after=50), rows)
    assert np.array_equal(frozen.transform(rows), started(mb.Standardise(), rows[:50]).transform(rows))
    assert not np.array_equal(frozen.transform(rows), started(mb.Standardise(), rows).transform(rows))


class TestOutliers:
    """LinUCB on three normal columns, labels of a linear rule: 2,000 rounds after outliers it plays as if without."""

    ROUNDS, SETTLED = 5_000, 3_000

    def loss(self, where: slice | tuple[slice, int], value: float) -> float:
        rng = np.random.default_rng(0)
        contexts = rng.standard_normal((self.ROUNDS, 3))
        labels = (contexts @ rng.standard_normal((3, 3))).argmax(1)
        contexts[where] = value  # with the label of the row that was there: nothing to learn from it
        trace = mb.simulate(mb.LinUCB(3, seed=0), mb.Classification(contexts, labels))
        return float(trace.losses[self.SETTLED :].mean())

    @pytest.mark.parametrize(
        ("where", "value"),
        [
            (slice(999, 1000), 1e4),
            (slice(999, 1000), 1e6),
            (slice(999, 1000), -1e90),
            ((slice(999, 1000), 0), 1e12),
            (slice(980, 1000), 1e6),
            (slice(0, 1), 1e6),
            (slice(1, 2), 1e90),
            (slice(4, 5), 1e6),
            (slice(19, 20), 1e6),
            (slice(499, None, 500), 1e6),
        ],
        ids=str,
    )
    def test_it_is_not_blinded(self, where: slice | tuple[slice, int], value: float) -> None:
        assert self.loss(where, value) == pytest.approx(self.loss(slice(0), 0.0), abs=0.02)

    @pytest.mark.parametrize("factor", [1e3, 1e-3])
    @pytest.mark.parametrize("before", [100, 1000, 1025, 1500])
    def test_a_scale_that_lasts_is_followed_within_three_times_the_rounds_before(
        self, factor: float, before: int
    ) -> None:
        rows = np.random.default_rng(0).standard_normal((4 * before, 1))
        rows[before:] *= factor
        z = started(mb.Standardise(bias=False), rows).transform(rows[before:])
        assert 0.5 < z.std() < 2

    def test_a_level_that_lasts_is_followed(self) -> None:
        rows = np.random.default_rng(0).standard_normal((2048, 1))
        rows[500:] += 1e3
        z = started(mb.Standardise(bias=False), rows).transform(rows[500:])
        assert 0.5 < z.std() < 2
        assert abs(z.mean()) < 1

    def test_forgotten_outliers_leave_no_trace_in_the_digits(self) -> None:
        rows = np.random.default_rng(0).standard_normal((64, 2))
        spoilt = rows.copy()
        spoilt[0] = 1e100, -1e100
        assert np.allclose(
            started(mb.Standardise(), spoilt).transform(rows), naive.standardise(spoilt, rows, 5.0), atol=1e-9
        )
        assert np.allclose(started(mb.Standardise(), spoilt).transform(rows[16:])[:, :2].std(0), 0.7, atol=0.2)

    def test_a_rare_indicator_is_at_the_clip_from_its_first_appearance_on(self) -> None:
        rows = np.zeros((3000, 1))
        rows[[500, 1300, 2900]] = 1.0
        features = mb.Standardise(bias=False).start(1, np.random.default_rng(0))
        for t, row in enumerate(rows):
            z = features.observe(row[None])
            assert z[0, 0] == (5.0 if row[0] else pytest.approx(0.0, abs=0.1))
            assert features.transform(np.ones((1, 1)))[0, 0] == (5.0 if t >= 500 else 0.0)

    def test_an_outlier_that_comes_before_a_rare_indicator_does_not_hide_it(self) -> None:
        rows = np.zeros((3000, 1))
        rows[100] = 1e6
        rows[150::50] = 1.0
        assert started(mb.Standardise(bias=False), rows).transform(np.ones((1, 1)))[0, 0] > 4

    def test_deviations_too_small_to_divide_by_count_as_none(self) -> None:
        for size in (1e-90, 1e-110, 1e-160, 1e-162, 5e-324):
            features = started(mb.Standardise(bias=False), np.array([[-size], [size]]))
            z = features.transform(np.array([[0.0], [1e100], [-1e100]]))[:, 0]
            assert z.tolist() == ([0, 5, -5] if size == 1e-90 else [0, 0, 0])

    def test_rows_in_batches_leave_the_same_state_bit_for_bit(self) -> None:
        rows = np.random.default_rng(0).standard_cauchy((600, 5))
        single = started(mb.Standardise(), rows).fields()["moments"].array
        for batch in (2, 7, 600):
            features = mb.Standardise().start(5, np.random.default_rng(0))
            for start in range(0, 600, batch):
                features.observe(rows[start : start + batch])
            assert np.array_equal(features.fields()["moments"].array, single)


def test_fourier_agrees_with_its_twin() -> None:
    rows = np.random.default_rng(0).standard_normal((100, 7)) * 100
    features = started(mb.Fourier(200), rows)
    assert np.abs(features.transform(rows) - naive.fourier(rows, **arrays(features))).max() < 1e-9


def test_every_frequency_looks_at_as_many_columns_as_it_is_told_to_and_all_are_seen() -> None:
    columns = mb.Fourier(500, n_columns=3).start(9, np.random.default_rng(0)).fields()["columns"].array
    assert all(len(set(one)) == 3 for one in columns.T.tolist())
    # Each column is in a third of the 500 subsets: within four standard deviations of 167.
    assert np.abs(np.bincount(columns.ravel(), minlength=9) - 500 / 3).max() < 4 * np.sqrt(500 * 2 / 9)
    few = mb.Fourier(500, n_columns=3).start(2, np.random.default_rng(0)).fields()["columns"].array
    assert (np.sort(few, axis=0) == [[0], [1]]).all()


@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_fourier_approximates_the_average_of_gaussian_kernels_on_subsets(n_columns: int) -> None:
    """<z(x), z(y)> → mean over subsets S of exp(-‖x_S-y_S‖² d/(4q width²)): 20,000 features, error below 0.04."""
    rows = np.random.default_rng(0).standard_normal((30, 4)) / 2
    z = started(mb.Fourier(20_000, n_columns=n_columns, width=0.8), rows).transform(rows)
    exact = naive.subset_kernel(rows, n_columns, 0.8)
    assert np.abs(z @ z.T - exact).max() < 0.04
    # Negative controls: another width, and other subsets, are told apart.
    assert np.abs(z @ z.T - naive.subset_kernel(rows, n_columns, 1.6)).max() > 0.1
    assert np.abs(z @ z.T - naive.subset_kernel(rows, 3, 0.8)).max() > 0.08


def test_fourier_is_accurate_to_eleven_digits_and_bounded_for_ever() -> None:
    features = mb.Fourier(400).start(1, np.random.default_rng(0))
    near = np.linspace(-3, 3, 50)[:, None]
    assert np.abs(features.transform(near) - naive.fourier(near, **arrays(features))).max() < 3e-12
    for far in (1e16, 1e20, 1e50, 1e100):
        assert np.abs(features.transform(np.array([[far]]))).max() <= np.sqrt(2 / 400) * (1 + 1e-9)


@pytest.mark.parametrize("batch", [1, 3, 5])
def test_freezing_stops_at_its_row_inside_a_batch(batch: int) -> None:
    rows = np.random.default_rng(0).standard_normal((15, 2))
    frozen = mb.Standardise(freeze_after=4).start(2, np.random.default_rng(0))
    for start in range(0, 15, batch):
        frozen.observe(rows[start : start + batch])
    assert np.allclose(frozen.transform(rows), naive.standardise(rows[:4], rows, 5.0))


@pytest.mark.parametrize("recipe", [mb.Standardise(), mb.Fourier(5), mb.Identity(), mb.Bias()], ids=repr)
def test_a_wrong_width_is_refused(recipe: mb.FeatureMap) -> None:
    features = recipe.start(2, np.random.default_rng(0))
    for bad in (np.ones((1, 1)), np.ones((1, 3)), np.ones((1, 2_000_000)), np.ones(2)):
        with pytest.raises(ValueError, match="must be n x 2, got shape"):
            features.transform(bad)
        with pytest.raises(ValueError, match="must be n x 2, got shape"):
            features.observe(bad)


def test_a_map_that_returns_another_width_than_it_says_is_refused() -> None:
    class Growing(mb.Identity):
        def _transform(self, rows: Any) -> Any:
            return np.concatenate([rows, rows], 1)

    agent = mb.LinUCB(2, features=Growing(), seed=0)
    with pytest.raises(ValueError, match="Growing must be n x 1"):
        agent.learn([1.0], mb.Decision(0, 0.5), 0.5)


def test_named_maps() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 4))
    assert started(feature_map("raw"), rows).n_outputs == 5
    both = started(feature_map("fourier"), rows)
    assert both.n_outputs == 5 + 300
    assert np.array_equal(both.transform(rows)[:, :5], started(feature_map("raw"), rows).transform(rows))
    assert np.allclose(np.linalg.norm(both.transform(rows)[:, 5:], axis=1), 1, atol=0.2)


def test_two_learners_may_share_a_recipe() -> None:
    recipe = mb.Standardise()
    one, two = mb.LinUCB(2, features=recipe, seed=0), mb.LinUCB(2, features=recipe, seed=0)
    one.learn([1.0, 5.0], mb.Decision(0, 0.5), 0.5)
    one.learn([2.0, 3.0], mb.Decision(0, 0.5), 0.5)
    two.learn([1.0, 5.0], mb.Decision(0, 0.5), 0.5)
    assert one.state()["features.moments"][-1, 0] == 2
    assert two.state()["features.moments"][-1, 0] == 1


def test_a_recipe_is_settled() -> None:
    """Learners have made their own of it, and their files would say another."""
    recipe = mb.Standardise()
    chain = mb.Chain([recipe])
    agent = mb.LinUCB(2, features=chain, seed=0)
    chain.maps.append(mb.Bias())
    assert len(agent.features.maps) == 1  # type: ignore[union-attr]  # it is a chain
    for one, name, value in ((recipe, "clip", 1.1), (agent.features, "maps", [mb.Bias()]), (agent, "features", "raw")):
        with pytest.raises(ValueError, match=f"^{name} of .* is settled"):
            setattr(one, name, value)
    assert recipe.clip == 5.0


def test_unknown_names_and_bad_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="'furier'"):
        feature_map("furier")
    with pytest.raises(ValueError, match=r"maps\[1\] must be a FeatureMap, got 3"):
        mb.Chain([mb.Bias(), 3])  # type: ignore[list-item]  # refused on purpose
    with pytest.raises(ValueError, match="maps must not be empty"):
        mb.Concatenate([])


class TestScores:
    def test_sparse_contexts_give_what_dense_ones_give(self) -> None:
        from scipy import sparse

        rng = np.random.default_rng(0)
        X = rng.standard_normal((5, 7)) * (rng.random((5, 7)) < 0.4)
        linear, shared = mb.Linear(5, 7), mb.SharedLinear(5, 7)
        for n in ((), (3,), (2, 3)):
            theta = rng.standard_normal((*n, linear.dimension))
            assert np.allclose(linear.values(theta, sparse.csr_array(X)), linear.values(theta, X))
            w = rng.standard_normal((*n, 7))
            assert np.allclose(shared.values(w, sparse.csr_array(X)), shared.values(w, X))
        row = sparse.csr_array(X[:1])
        assert np.allclose(linear.gradient(row, 1), linear.gradient(X[0], 1))
        assert np.allclose(shared.gradient(sparse.csr_array(X), 1), shared.gradient(X, 1))

    def test_wrong_shapes_are_refused(self) -> None:
        linear, shared = mb.Linear(3, 4), mb.SharedLinear(3, 4)
        with pytest.raises(ValueError, match="4 features, got shape"):
            linear.values(np.ones(linear.dimension), np.ones(5))
        with pytest.raises(ValueError, match="one row of 4"):
            linear.gradient(np.ones((2, 4)), 0)
        with pytest.raises(ValueError, match="3 x 4"):
            shared.values(np.ones(4), np.ones((2, 4)))

    def test_projection_of_enormous_parameters(self) -> None:
        inside = mb.Linear(3, 2, radius=2.0).project(np.full(4, 1e100))
        assert np.allclose(inside, 1.0)

    def test_batches_of_contexts(self) -> None:
        rng = np.random.default_rng(0)
        linear, shared = mb.Linear(3, 4), mb.SharedLinear(3, 4)
        theta, X = rng.standard_normal((2, linear.dimension)), rng.standard_normal((5, 4))
        assert np.allclose(linear.values(theta, X)[1, 2], linear.values(theta[1], X[2]))
        w, A = rng.standard_normal((2, 4)), rng.standard_normal((5, 3, 4))
        assert np.allclose(shared.values(w, A)[1, 2], shared.values(w[1], A[2]))

    def test_finite_class_refuses_what_breaks_its_promises(self) -> None:
        with pytest.raises(ValueError, match=r"bound=1\.0, got 2"):
            mb.Finite([lambda x: [2.0, -2.0]], 2, 1.0).values(np.ones(1))
        with pytest.raises(ValueError, match="bound"):
            mb.Finite([lambda x: [1.05, -1.05]], 2, 1.0).values(np.ones(1))
        with pytest.raises(ValueError, match="2 finite scores"):
            mb.Finite([lambda x: [np.nan, 0.0]], 2, 1.0).values(np.ones(1))
        with pytest.raises(ValueError, match="3 scores"):
            mb.Finite([lambda x: [2.0, -2.0]], 3, 9.0).values(np.ones(1))
        with pytest.raises(ValueError, match="each item a function"):
            mb.Finite([3], 3, 9.0)  # type: ignore[list-item]  # refused on purpose
        with pytest.raises(ValueError, match="each item a function"):
            mb.Finite([], 3, 9.0)

    def test_finite_class_of_weights_has_an_exact_bound(self) -> None:
        weights = np.random.default_rng(0).standard_normal((6, 3, 2))
        table = mb.Finite.from_weights(weights)
        assert len(table) == 6
        angles = np.linspace(0, 2 * np.pi, 2000)
        largest = max(np.abs(table.values(np.array([np.cos(a), np.sin(a)]))).max() for a in angles)
        assert largest == pytest.approx(table.bound, rel=1e-4)


def test_a_chain_within_a_chain_may_give_dense_rows_for_sparse_ones() -> None:
    rows = as_sparse(np.eye(5)[:2])
    inner = mb.Chain([mb.Standardise(bias=False), mb.Fourier(6)])
    started = mb.Chain([inner, mb.Bias()]).start(5, np.random.default_rng(0), sparse=True)
    assert started.sparse
    assert not started.gives_sparse
    assert started.observe(rows).shape == (2, 7)
