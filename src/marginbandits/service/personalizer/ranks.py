"""Rank: a request of Personalizer as one of the service, and the service's answer as one of Personalizer.

Ids of actions may be whole numbers, and are told as they were sent.
"""

from typing import Any

import msgspec

from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.personalizer.features import merged
from marginbandits.service.records import Offer
from marginbandits.service.requests import Answer, Ask

__all__ = ["Rank"]

MOST_ACTIONS, LONGEST = 50, 256
COUNT = "Action count should be between 1 and 50."
NO_ID = "Action ids must not be empty."
NO_EVENT = "EventId should be non-empty or null."
NO_FEATURES = "Every action should have at least one non-null action feature."
NULL_ACTION, NULL_CONTEXT = "Actions contains null value.", "Context features contains null value."
Id = str | int


class Action(msgspec.Struct, frozen=True):
    """An action and its features."""

    id: Id | None = None
    features: list[Any] | None = None


class Rank(msgspec.Struct, frozen=True, rename="camel"):
    """What is asked; whatever else is in it is ignored. `unit` is not Personalizer's: whom the decision is for."""

    actions: list[Action | None] | None = None
    context_features: list[Any] | None = None
    excluded_actions: list[Id] | None = None
    event_id: str | None = None
    defer_activation: bool | None = None
    unit: str | None = None

    def ask(self, header: str | None = None) -> Ask:
        """The same for the service; or why not, in Personalizer's words. A header may say the unit, too."""
        unit = self.unit or header or None
        if unit is not None and len(unit) > LONGEST:
            raise ValueError(f"unit should have at most {LONGEST} characters, got {len(unit)}")
        actions = self.actions or []
        if not 1 <= len(actions) <= MOST_ACTIONS:
            raise FaultError("InvalidRankRequest", COUNT)
        if self.event_id == "":
            raise FaultError("InvalidRankRequest", NO_EVENT)
        if self.event_id is not None and len(self.event_id) > LONGEST:
            raise ValueError(f"EventId should have at most {LONGEST} characters, got {len(self.event_id)}")
        if None in (self.context_features or ()):
            raise FaultError("InvalidRankRequest", NULL_CONTEXT)
        offers = [_offer(one) for one in actions]
        ids = {one.id for one in offers}
        return Ask(
            context=merged(self.context_features or ()),
            actions=list(offers),
            excluded=[str(one) for one in self.excluded_actions or () if str(one) in ids],
            event_id=self.event_id,
            deferred=bool(self.defer_activation),
            unit=unit,
        )

    def told(self, answer: Answer) -> dict[str, Any]:
        """The answer, with the ids of this request."""
        ids = {str(one.id): one.id for one in self.actions or () if one is not None}
        return {
            "ranking": [{"id": ids[one.id], "probability": one.probability} for one in answer.ranking],
            "eventId": answer.event_id,
            "rewardActionId": ids[answer.action],
        }


def _offer(action: Action | None) -> Offer:
    if action is None:
        raise FaultError("InvalidRankRequest", NULL_ACTION)
    name = "" if action.id is None else str(action.id)
    if not name:
        raise FaultError("InvalidRankRequest", NO_ID)
    if len(name) > LONGEST:
        raise ValueError(f"Action ids should have at most {LONGEST} characters, got {len(name)}")
    features = [one for one in action.features or () if one is not None]
    if not features:
        raise FaultError("InvalidRankRequest", NO_FEATURES)
    return Offer(name, merged(features))
