"""Imported by the process that children are forked from, and by it alone: what is compiled at the first use is used."""

from marginbandits.service.model import Model
from marginbandits.service.records import Offer, Policy
from marginbandits.types import Decision

_model = Model(Policy())
_model.law({"likes": "hat", "age": 0.5}, [Offer("hat"), Offer("shoe")])
_made = Decision(action="hat", probability=0.5)
_model.learner.learn({"likes": "hat", "age": 0.5}, _made, reward=1.0, actions={"hat": None, "shoe": None})
