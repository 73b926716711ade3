"""The errata that claims exercise, a sentence each; the documentation's page of errata has all of them, with checks.

>>> ERRATA[9]
'resampling counts draws until success: geometric with success probability p, so of mean 1/p, not p'
"""

__all__ = ["ERRATA"]

ERRATA = {
    3: "Theorem 'proj_lmc' prints a benchmark K times larger than the (1/K) Σ <ℓ, ψ> that its proof shows",
    4: "the additive √T/γ of the theorem leaves out exploration, sampling error and the bias of capped weights",
    5: "the constant 10 of the variance term needs B >= γ and B >= 1, which is not stated",
    7: "the theorem's number of Langevin steps is far below what its proof's formula gives",
    9: "resampling counts draws until success: geometric with success probability p, so of mean 1/p, not p",
    10: "the bias of weights capped at M is up to K Z_max/(eM(1 - Kμ)), not (1 + B/γ)/(eM); M = ⌈K√T⌉ repairs it",
    11: "M + 1 draws a round is the worst case of resampling: the mean is at most K + 1",
    15: "SmoothFTL's μ has γ^{-p/(p+1)} in the proof and not in the statement",
    16: "the deviation lemma's constants are 8 and 24 where 2 and 12 are printed, and the epochs sum to 2T",
    17: "the Lipschitz theorem states (KT)^{p/(p+1)} for every p, but its proof needs p >= 2; below, (KT)^{2/3}",
    20: "for p <= 2 the bound grows faster in K than the printed K^{(p+2)/(p+4)}, whatever its parameters",
    22: "the converse of 'cc_to_mc' fails from K = 3 on, not for every K; MC grows with γ only where the label leads",
    25: "a policy that is 1-Lipschitz on the sample need not extend to the space: it is sought on a grid of all of it",
    26: "importance weights are of the marginal probability of the action, never the sampled regressor's own",
}
