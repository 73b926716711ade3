"""The paired test: as many false alarms as stated, and what it sees that looser tests do not."""

import numpy as np

from marginbandits.evaluation.comparison import paired, ranks


class TestComparison:
    def test_false_alarms_come_as_often_as_stated(self) -> None:
        """Two equal learners on shared rows, 2,000 times at 5%: within five standard errors (rate 1e-6)."""
        rng = np.random.default_rng(0)
        alarms = 0
        for _ in range(2000):
            difficulty = rng.random(300)
            losses = (rng.random((2, 2, 300)) < difficulty).astype(float)
            alarms += paired(losses)[1][0, 1] < 0.05
        assert abs(alarms / 2000 - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 2000)

    def test_counting_seeds_as_new_rows_would_raise_false_alarms(self) -> None:
        """Negative control: learners that differ by row, not on average; pooling 10 seeds calls it significant."""
        rng = np.random.default_rng(1)
        alarms = pooled = 0
        for _ in range(400):
            strength = rng.choice([0.0, 1.0], (2, 1, 100))
            losses = np.repeat(strength, 10, 1)
            alarms += paired(losses)[1][0, 1] < 0.05
            d = (losses[0] - losses[1]).ravel()
            pooled += abs(d.mean()) > 1.96 * d.std() / np.sqrt(len(d))
        assert alarms / 400 < 0.12
        assert pooled / 400 > 0.3

    def test_pairing_sees_what_the_unpaired_test_misses(self) -> None:
        rng = np.random.default_rng(0)
        base = (rng.random(2000) < 0.5).astype(float)
        worse = np.maximum(base, rng.random(2000) < 0.02)
        difference, p = paired(np.stack([base, worse])[:, None])
        assert difference[0, 1] < 0
        assert p[0, 1] < 1e-3
        unpaired = abs(difference[0, 1]) / np.sqrt(2 * 0.25 / 2000)
        assert unpaired < 1.96

    def test_every_seed_counts(self) -> None:
        losses = np.zeros((2, 2, 100))
        losses[1, 1, ::2] = 1.0  # they differ in the second seed only
        difference, p = paired(losses)
        assert difference[0, 1] == -0.25
        assert p[0, 1] < 1e-9

    def test_equal_runs_are_no_evidence(self) -> None:
        losses = np.tile(np.random.default_rng(0).random(50), (2, 3, 1))
        assert paired(losses)[1][0, 1] == 1.0

    def test_ranks_share_ties(self) -> None:
        assert ranks(np.array([[0.1, 0.2, 0.1]])).tolist() == [[1.5, 3.0, 1.5]]
