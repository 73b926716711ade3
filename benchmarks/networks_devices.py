"""A learner of networks on a device: saved there and loaded here, and the other way; how near two devices stay.

    python benchmarks/networks_devices.py --device torch:cuda [--rounds 600] [--more 300]

`HingeLMC(scores=Networks())` plays digits for `--rounds` on one device and is saved. The file is loaded there and on
the other; weights must be those of the file, number for number, on both. Then both go on for `--more` rounds, with the
same contexts: for how many rounds they play the same, how far laws and weights are apart, and what each loses. On CPU
alone (`--device cpu`) both are one run, bit for bit.
"""

import argparse

import numpy as np
from beside.asked import count

import marginbandits as mb

DIGITS = mb.Classification.bundled("digits", seed=0)


def weights(agent: mb.HingeLMC) -> np.ndarray:
    """As NumPy's array."""
    assert agent._networks is not None  # there was a round
    return agent._networks.ensemble.parameters.copy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=count, default=600)
    parser.add_argument("--more", type=count, default=300)
    options = parser.parse_args()
    first, last = options.rounds, options.rounds + options.more
    before = mb.Oblivious.of(DIGITS.contexts[:first], DIGITS.losses[:first])
    after = mb.Oblivious.of(DIGITS.contexts[first:last], DIGITS.losses[first:last])
    for here, there in ((options.device, "cpu"), ("cpu", options.device)):
        agent = mb.HingeLMC(10, scores=mb.Networks(device=here), seed=0)
        mb.simulate(agent, before)
        file = agent.dumps()
        stays, goes = mb.loads(file, device=here), mb.loads(file, device=there)
        assert isinstance(stays, mb.HingeLMC)
        assert isinstance(goes, mb.HingeLMC)
        same = all((weights(one) == weights(agent)).all() for one in (stays, goes))
        a, b = mb.simulate(stays, after), mb.simulate(goes, after)
        apart = np.flatnonzero(a.actions != b.actions)
        until = int(apart[0]) if len(apart) else len(a.actions)
        print(
            f"{here} to {there}: loaded {'with the same weights' if same else 'with OTHER weights'};",
            f"the same actions for {until} of {options.more} rounds,",
            f"laws within {gap(a.laws[:until], b.laws[:until]):.0e};",
            f"lost {a.losses.mean():.4f} and {b.losses.mean():.4f};",
            f"weights in the end within {gap(weights(stays), weights(goes)):.0e}",
        )


def gap(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max()) if len(one) else 0.0


if __name__ == "__main__":
    main()
