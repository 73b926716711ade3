"""The methods the paper's learners are measured against, one short file each."""

from typing import TYPE_CHECKING

from marginbandits.exports import on_demand

if TYPE_CHECKING:
    from marginbandits.learners.baselines.bag import Bag
    from marginbandits.learners.baselines.banditron import Banditron
    from marginbandits.learners.baselines.binning import Binning
    from marginbandits.learners.baselines.cover import Cover
    from marginbandits.learners.baselines.epoch_greedy import EpochGreedy
    from marginbandits.learners.baselines.epsilon_greedy import EpsilonGreedy
    from marginbandits.learners.baselines.lints import LinTS
    from marginbandits.learners.baselines.linucb import LinUCB
    from marginbandits.learners.baselines.logistic_ts import LogisticTS
    from marginbandits.learners.baselines.nearest_neighbours import NearestNeighbours
    from marginbandits.learners.baselines.newtron import Newtron
    from marginbandits.learners.baselines.regcb import RegCB
    from marginbandits.learners.baselines.soba import SOBA
    from marginbandits.learners.baselines.squarecb import SquareCB
    from marginbandits.learners.baselines.supervised import Supervised
    from marginbandits.learners.baselines.uniform import Uniform

__all__ = [
    "SOBA",
    "Bag",
    "Banditron",
    "Binning",
    "Cover",
    "EpochGreedy",
    "EpsilonGreedy",
    "LinTS",
    "LinUCB",
    "LogisticTS",
    "NearestNeighbours",
    "Newtron",
    "RegCB",
    "SquareCB",
    "Supervised",
    "Uniform",
]

if not TYPE_CHECKING:
    __getattr__ = on_demand(__name__, __all__)
