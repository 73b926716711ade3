"""Imported by the process that children are forked from, and by it alone: what is compiled at the first use is used."""

from marginbandits.service.model import Model
from marginbandits.service.records import Offer, Policy
from marginbandits.types import Decision

_context = {"likes": "hat", "age": 0.5}
_model, _again = Model(Policy()), Model(Policy())
_model.law(_context, [Offer("hat"), Offer("shoe")])
_made = Decision(action="hat", probability=0.5)
for _one in (_model, _again):
    _one.learner.learn(_context, _made, reward=1.0, actions={"hat": None, "shoe": None})
    _one.law(_context, [Offer("hat"), Offer("shoe")])
    _again.loads(_model.dumps()[0], 1, 0)
