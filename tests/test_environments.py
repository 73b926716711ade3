from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

import marginbandits as mb
from marginbandits.environments.base import flipped
from marginbandits.policies import proportional
from marginbandits.surrogates import multiclass_hinge
from marginbandits.types import Array


class TestClassification:
    def test_losses_are_zero_for_the_label_alone(self) -> None:
        env = mb.Classification([[1.0], [2.0], [3.0]], ["b", "a", "c"])
        assert list(env.classes) == ["a", "b", "c"]
        assert np.array_equal(env.losses, [[1, 0, 1], [0, 1, 1], [1, 1, 0]])
        assert np.array_equal(env.contexts, [[1], [2], [3]])

    def test_costs(self) -> None:
        costs = [[0.0, 0.3], [1.0, 0.1]]
        env = mb.Classification([[1.0], [2.0]], [0, 1], costs=costs)
        assert np.array_equal(env.losses, costs)

    def test_seed_shuffles_rows_with_their_labels(self) -> None:
        X, y = np.arange(50.0)[:, None], np.arange(50) % 2
        env = mb.Classification(X, y, seed=1, n_rounds=30)
        assert env.n_rounds == 30
        assert not np.array_equal(env.contexts[:, 0], np.arange(30))
        assert np.array_equal(env.losses.argmin(1), env.contexts[:, 0] % 2)

    def test_label_noise_flips_its_share(self) -> None:
        """20,000 labels at 25%: within five standard errors (rate 1e-6), and never to themselves."""
        y = np.arange(20_000) % 4
        clean = mb.Classification(np.ones((20_000, 1)), y).losses.argmin(1)
        noisy = mb.Classification(np.ones((20_000, 1)), y, label_noise=0.25).losses.argmin(1)
        assert np.array_equal(clean, y)
        assert abs((noisy != y).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 20_000)
        always = flipped(y, 4, 1.0, np.random.default_rng(0))
        assert (always != y).all()
        shifts = np.bincount((always - y) % 4, minlength=4)[1:] / len(y)
        assert np.abs(shifts - 1 / 3).max() < 5 * np.sqrt(2 / 9 / len(y))

    def test_npz(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "set.npz", X=np.eye(4, dtype=np.uint8), y=np.array([0, 1, 0, 1], np.int16))
        assert mb.Classification.from_npz(tmp_path / "set.npz", seed=0).n_actions == 2
        np.savez(tmp_path / "bad.npz", X=np.eye(4))
        with pytest.raises(ValueError, match="lacks y"):
            mb.Classification.from_npz(tmp_path / "bad.npz")

    @pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "digits", "iris", "wine"])
    def test_bundled_sets(self, name: str) -> None:
        assert mb.Classification.bundled(name, n_rounds=20).n_rounds == 20

    def test_a_typo_suggests_the_nearest_name(self) -> None:
        with pytest.raises(ValueError, match="'digit'; did you mean 'digits'"):
            mb.Classification.bundled("digit")
        with pytest.raises(ValueError, match="breast_cancer, diabetes, digits, iris, wine"):
            mb.Classification.bundled("zzz")

    def test_openml(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What scikit-learn gives for a data set number: ordinals for categories, NaN for what is missing."""
        import sklearn.datasets
        from sklearn.utils import Bunch

        asked = {}

        def fetch(**options: object) -> object:
            asked.update(options)
            return Bunch(
                data=np.array([[1.0, 1.0], [np.nan, 0.0], [3.0, np.nan]]),
                feature_names=["size", "colour"],
                categories={"colour": ["blue", "red"]},
                target=np.array(["yes", "no", "yes"], object),
            )

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        env = mb.Classification.openml(61)
        assert asked["data_id"] == 61
        assert np.array_equal(env.contexts, [[1, 0, 1], [2, 1, 0], [3, 0, 0]])
        assert np.array_equal(env.losses.argmin(1), [1, 0, 1])

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([[1.0], [np.nan]], [0, 1], "nan in row 1, column 0"),
            ([["a"], ["b"]], [0, 1], "X must be .* numbers"),
            ([1.0, 2.0], [0, 1], "X must be .*2 dimensions"),
            ([[1.0], [2.0]], [0], "one label for each of 2 rows"),
            ([[1.0], [2.0]], [0, 0], "at least two classes"),
            ([[1.0], [2.0]], [0, np.nan], "nan in row 1"),
            (np.empty((0, 2)), [], "X must be .*one or more"),
        ],
    )
    def test_bad_tables_are_refused(self, X: object, y: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            mb.Classification(X, y)  # type: ignore[arg-type]  # refused on purpose

    def test_labels_of_any_one_kind_and_sparse_tables(self) -> None:
        from scipy import sparse

        env = mb.Classification(sparse.csr_array(np.eye(2)), ["no", "yes"])
        assert np.array_equal(env.contexts, np.eye(2))
        with pytest.raises(ValueError, match="None in row 1"):
            mb.Classification(np.eye(2), np.array(["a", None], object))
        with pytest.raises(ValueError, match="all numbers or all words"):
            mb.Classification(np.eye(2), np.array(["a", 3], object))

    def test_noise_and_order_come_from_the_seed_and_the_first_rounds_are_kept(self) -> None:
        X, y = np.arange(300.0)[:, None], np.arange(300) % 3
        noisy = [mb.Classification(X, y, label_noise=0.5, seed=s).losses for s in (1, 1, 2)]
        assert np.array_equal(noisy[0], noisy[1])
        assert np.array_equal(mb.Classification(X, y, n_rounds=5).contexts[:, 0], np.arange(5))
        one, two = (mb.Classification(X, y, label_noise=0.5, seed=s) for s in (1, 2))
        flips = [e.losses.argmin(1) != e.contexts[:, 0] % 3 for e in (one, two)]
        assert (flips[0] != flips[1]).any()

    @pytest.mark.parametrize("data", [b"", b"garbage", b"PK\x03\x04"])
    def test_files_that_are_no_archive_are_named(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "set.npz").write_bytes(data)
        with pytest.raises(ValueError, match=r"set\.npz"):
            mb.Classification.from_npz(tmp_path / "set.npz")
        np.save(tmp_path / "set.npy", np.zeros(3))
        with pytest.raises(ValueError, match=r"set\.npy"):
            mb.Classification.from_npz(tmp_path / "set.npy")

    def test_bad_costs_are_refused(self) -> None:
        with pytest.raises(ValueError, match="costs must be 2 x 2"):
            mb.Classification([[1.0], [2.0]], [0, 1], costs=[[0.0, 1.0]])
        with pytest.raises(ValueError, match=r"costs must be .* at most 1"):
            mb.Classification([[1.0], [2.0]], [0, 1], costs=[[0.0, 2.0], [1.0, 0.0]])


class TestSynthetic:
    @pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 5), (3, 2), (5, 20)])
    def test_hinge_realizable(self, k: int, d: int) -> None:
        """The stated scores are linear in a unit ball, realise the hinge at the margin, and the margin is attained."""
        margin = 0.5 / ((k - 1) * np.sqrt(k))
        env = mb.HingeRealizable(k, d, 3000, margin=margin, seed=0)
        s, label = env.best_scores, env.losses.argmin(1)
        assert np.linalg.norm(env.weights) == pytest.approx(1.0)
        assert np.linalg.norm(env.contexts, axis=1).max() <= 1 + 1e-9
        if d >= k:
            assert np.allclose(np.linalg.norm(env.contexts, axis=1), 1)
        assert np.abs(env.weights.sum(0)).max() < 1e-12
        assert np.allclose(s, env.contexts @ env.weights.T)
        hinge = mb.Hinge(margin)(s)
        assert (env.losses * hinge).sum(1).max() < 1e-9
        assert (env.losses * proportional(hinge)).sum(1).max() < 1e-9
        others = np.where(np.eye(k, dtype=bool)[label], -np.inf, s)
        assert others.max() == pytest.approx(-margin, rel=0.01)
        assert (env.losses * mb.Hinge(1.1 * margin)(s)).sum() > 0  # a wider margin is not realised

    def test_hinge_realizable_at_the_widest_margin_and_not_beyond(self) -> None:
        widest = 1 / (2 * np.sqrt(3))
        env = mb.HingeRealizable(3, 4, 50, margin=widest, seed=0)
        assert (env.losses * mb.Hinge(widest)(env.best_scores)).sum() < 1e-9
        with pytest.raises(ValueError, match=r"margin must be at most .* = 0\.2887, got 0\.3"):
            mb.HingeRealizable(3, 4, 50, margin=0.3)
        with pytest.raises(ValueError, match="n_features must be at least n_actions - 1 = 4, got 3"):
            mb.HingeRealizable(5, 3, 50, margin=0.01)

    def test_no_arrangement_allows_a_wider_margin(self) -> None:
        """Σ_y <W, e_y x_yᵀ> >= K(K-1)γ while ‖W‖ <= 1 and ‖Σ e_y x_yᵀ‖ = √K: so γ <= 1/((K-1)√K)."""
        rng = np.random.default_rng(0)
        for k in (2, 3, 6):
            for _ in range(200):
                W = rng.standard_normal((k, k))
                W -= W.mean(0)
                W /= np.linalg.norm(W)
                X = rng.standard_normal((k, k))
                X /= np.linalg.norm(X, axis=1, keepdims=True)
                scores = W @ X.T
                margin = -max(scores[a, y] for a in range(k) for y in range(k) if a != y)
                assert margin <= 1 / ((k - 1) * np.sqrt(k)) + 1e-12

    def test_noise_flips_labels(self) -> None:
        env = mb.HingeRealizable(3, 4, 4000, noise=0.2, seed=0)
        wrong = (env.best_scores.argmax(1) != env.losses.argmin(1)).mean()
        assert abs(wrong - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 4000)

    def test_linear_realizable(self) -> None:
        env = mb.LinearRealizable(4, 3, 20_000, seed=0)
        assert np.allclose(np.linalg.norm(env.contexts, axis=1), 1)
        assert np.allclose(env.means, 0.5 + 0.5 * env.contexts @ env.weights.T)
        error = ((env.losses - env.means) * np.sign(env.means - 0.5)).mean(0)
        assert (np.abs(error) < 5 * 0.5 / np.sqrt(20_000)).all()

    @pytest.mark.parametrize("p", [1, 3])
    def test_lipschitz_cube(self, p: int) -> None:
        env = mb.LipschitzCube(3, p, 500, seed=0)
        distance = np.abs(env.contexts[:, None] - env.contexts[None]).max(-1)
        gap = np.abs(env.means[:, None] - env.means[None]).max(-1)
        assert (gap <= distance + 1e-12).all()
        assert (gap > 0.99 * distance)[distance > 0].any()  # the constant is attained
        assert np.array_equal(env.means, env.mean_losses(env.contexts))
        assert np.corrcoef(env.means.ravel(), env.losses.ravel())[0, 1] > 0.2

    def test_keywords_are_documents_of_separable_topics(self) -> None:
        env = mb.Keywords(2000, seed=0)
        assert set(np.unique(env.contexts)) == {0.0, 1.0}
        assert (env.contexts[:, 120:].sum(1) == 20).all()
        for topic in range(9):
            mine = env.contexts[env.topics == topic, :120]
            keywords = mine.any(0)
            assert 20 <= keywords.sum() <= 40
            assert (mine.sum(1) == keywords.sum() - 5).all()
            assert len(np.unique(mine, axis=0)) > 100
        scores = env.contexts @ env.weights.T
        assert np.array_equal(scores.argmax(1), env.topics)
        assert np.array_equal(env.losses.argmin(1), env.topics)
        noisy = mb.Keywords(20_000, noise=0.05, seed=0)
        assert (noisy.losses.argmin(1) != noisy.topics).mean() == pytest.approx(0.05, abs=0.005)

    @pytest.mark.parametrize("k", [3, 4, 6])
    def test_multiclass_separable_but_not_cost_sensitively(self, k: int) -> None:
        """Multiclass hinge 0 for the stated weights; the best cost-sensitive hinge of any linear class grows like T."""
        env = mb.MulticlassSeparable(k, 60 * k, seed=0)
        scores = env.contexts @ env.weights.T
        assert multiclass_hinge(scores, env.labels, env.margin).max() < 1e-9
        assert multiclass_hinge(scores, env.labels, 1.5 * env.margin).max() > 0
        per_round = best_cost_sensitive_hinge(env.contexts, env.labels, k) / len(env)
        assert per_round > 0.5
        easy = mb.HingeRealizable(k, k, 60 * k, margin=0.02, seed=0)  # negative control: this one can be made 0
        assert best_cost_sensitive_hinge(easy.contexts, easy.losses.argmin(1), k) < 1e-6


def best_cost_sensitive_hinge(X: Array, labels: npt.NDArray[np.int64], k: int) -> float:
    """Least, over all W whose rows sum to zero of Σ_t Σ_{y≠label} max(1 + <w_y, x_t>, 0): a linear programme.

    The margin is 1 without loss of generality, as W is not bounded.
    """
    n, d = X.shape
    rows, slack = [], n * k
    for t in range(n):
        for y in range(k):
            if y != labels[t]:
                row = np.zeros(k * d + slack)
                row[y * d : (y + 1) * d] = X[t]
                row[k * d + t * k + y] = -1.0
                rows.append(row)
    centred = np.concatenate([np.tile(np.eye(d), k), np.zeros((d, slack))], 1)
    cost = np.r_[np.zeros(k * d), np.ones(slack)]
    bounds = [(None, None)] * (k * d) + [(0, None)] * slack
    solution = linprog(cost, np.array(rows), -np.ones(len(rows)), centred, np.zeros(d), bounds, method="highs")
    assert solution.status == 0
    return float(solution.fun)


class TestAdversarial:
    def test_switching_changes_the_best_policy_at_the_switch(self) -> None:
        env = mb.Switching(2, 3, 4000, n_switches=1, seed=0)
        labels = env.losses.argmin(1)
        halves = slice(0, 2000), slice(2000, 4000)
        first, second = (np.linalg.lstsq(env.contexts[h], 2.0 * labels[h] - 1, rcond=None)[0] for h in halves)
        inside = ((env.contexts[:2000] @ first > 0) == labels[:2000]).mean()
        across = ((env.contexts[2000:] @ first > 0) == labels[2000:]).mean()
        assert inside > 0.95
        assert across < 0.9
        assert ((env.contexts[2000:] @ second > 0) == labels[2000:]).mean() > 0.95

    def test_drift_is_gradual(self) -> None:
        env = mb.Drifting(2, 3, 4000, turns=0.5, seed=0)
        still = mb.Drifting(2, 3, 4000, turns=0.0, seed=0)
        labels, at_first = env.losses.argmin(1), still.losses.argmin(1)
        agreement = [(labels[i : i + 500] == at_first[i : i + 500]).mean() for i in range(0, 4000, 500)]
        assert agreement[0] > 0.9
        assert agreement[-1] < 0.1  # half a turn reverses everything
        assert (np.diff(agreement) < 0.05).all()

    def test_the_adversary_charges_the_favourite(self) -> None:
        env = mb.AdaptiveAdversary(3, 2, 5, seed=0)
        for current in env:
            before = current.losses
            assert before is None
            assert current.reveal(mb.Decision(1, 0.6, np.array([0.2, 0.6, 0.2]))) == 1.0
            assert np.array_equal(np.asarray(current.losses), [0, 1, 0])
        with pytest.raises(ValueError, match="distribution"):
            next(iter(env)).reveal(mb.Decision(0, 0.5))
        with pytest.raises(ValueError, match="distribution"):
            next(iter(env)).reveal(mb.Decision(0, 0.5, np.array([np.nan, 1.0, 0.0])))

    def test_the_adversary_settles_once_and_breaks_ties_at_random(self) -> None:
        rounds = list(mb.AdaptiveAdversary(3, 2, 300, seed=0))
        tie = mb.Decision(0, 1 / 3, np.full(3, 1 / 3))
        charged = [r.reveal(tie) for r in rounds]
        assert 0.2 < np.mean(charged) < 0.47
        other = mb.Decision(1, 1.0, np.array([0.0, 1.0, 0.0]))
        assert [r.reveal(other) for r in rounds] == [float(r.losses[1]) for r in rounds if r.losses is not None]

    def test_the_adversary_beats_the_deterministic_and_not_the_uniform(self) -> None:
        env = mb.AdaptiveAdversary(3, 2, 600, seed=0)
        assert mb.simulate(mb.LinUCB(3, seed=0), env).losses.mean() > 0.9
        uniform = mb.simulate(mb.Uniform(3, seed=0), env)
        assert abs(uniform.losses.mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 600)
        assert uniform.all_losses is not None
        assert np.array_equal(uniform.all_losses.sum(1), np.ones(600))


def test_environments_remember_the_seed_they_chose() -> None:
    first = mb.LinearRealizable(3, 2, 10)
    again = mb.LinearRealizable(3, 2, 10, seed=first.seed)
    assert np.array_equal(first.losses, again.losses)


def test_an_action_that_does_not_exist_has_no_loss() -> None:
    for action in (-1, 3):
        with pytest.raises(ValueError, match=f"action must be a whole number from 0 to 2, got {action}"):
            next(iter(mb.LinearRealizable(3, 2, 1, seed=0))).reveal(mb.Decision(action, 0.5))


class TestOblivious:
    def test_arrays_are_frozen_and_checked(self) -> None:
        env = mb.Oblivious.of(np.zeros((3, 2)), np.zeros((3, 2)))
        for array in (env.losses, env.contexts):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 1.0
        for contexts, losses, message in (
            (np.zeros((3, 2)), np.zeros((2, 2)), "contexts must be 2 x d"),
            (np.zeros((3, 2)), np.zeros((3, 1)), "losses must be rounds x actions"),
            (np.zeros((3, 0)), np.zeros((3, 2)), "contexts"),
            (np.zeros((3, 3, 2)), np.zeros((3, 2)), "3 x 2 x d"),
            (np.zeros(3), np.zeros((3, 2)), "contexts"),
            (np.zeros((3, 2), complex), np.zeros((3, 2)), "numbers"),
            (np.full((3, 2), np.nan), np.zeros((3, 2)), "finite"),
            (np.zeros((3, 2)), np.full((3, 2), 1.5), r"\[0, 1\], got 1.5"),
        ):
            with pytest.raises(ValueError, match=message):
                mb.Oblivious.of(contexts, losses)

    def test_the_callers_array_stays_writable(self) -> None:
        contexts = np.zeros((3, 2))
        mb.Oblivious.of(contexts, np.zeros((3, 2)))
        contexts[0, 0] = 1.0
