"""Propensities that a log lacks, estimated: a multinomial logistic regression of the action, fitted on other rounds.

It is right where the log's choices were made from these contexts and nothing else, and roughly so. Nothing in the log
can tell whether they were, so whatever rests on it is labelled. All contexts are kept in memory.

>>> rng = np.random.default_rng(0)
>>> X = rng.standard_normal((300, 1))
>>> few = Rounds(X, (X[:, 0] + rng.standard_normal(300) > 0).astype(int), np.zeros(300), labels=(0, 1))
>>> laws = estimated_laws([few], n_actions=2, folds=5)
>>> laws.shape, bool(np.corrcoef(laws[:, 1], X[:, 0])[0, 1] > 0.9)
((300, 2), True)
"""

from collections.abc import Iterable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginbandits.experiments.designs import Design
from marginbandits.rounds import Rounds
from marginbandits.types import Array

__all__ = ["estimated_laws"]


def estimated_laws(parts: Iterable[Rounds], n_actions: int, folds: int) -> Array:
    """With which probability each action would have been taken in each round, given its context: n x K."""
    design, rows, taken = Design(), [], []
    for rounds in parts:
        if rounds.there is not None or design.begin(rounds).together:
            raise ValueError("propensities can be estimated where each round has one context and all actions")
        rows.append(design.rows(rounds)[:, 1:])
        taken.append(rounds.actions)
    width = design.width - 1  # names that came later were 0 before
    X = np.concatenate([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in rows])
    actions = np.concatenate(taken)
    laws, fold = np.zeros((len(X), n_actions)), np.arange(len(X)) % folds
    for f in range(folds):
        own, others = fold == f, fold != f
        if not own.any():
            continue
        known = np.unique(actions[others])
        strange = np.setdiff1d(actions[own], known)
        if len(strange):
            raise ValueError(f"action {strange[0]} was taken too rarely for its propensities to be estimated")
        if not X.shape[1] or len(known) < 2:
            laws[np.ix_(own, known)] = np.bincount(actions[others], minlength=n_actions)[known] / others.sum()
            continue
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X[others], actions[others])
        laws[np.ix_(own, known)] = model.predict_proba(X[own])
    return laws
