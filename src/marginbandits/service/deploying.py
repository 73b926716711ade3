"""From one policy to another: only if the loop's own journal says that it earns more, or because somebody says so.

A candidate is judged by every event the loop has closed (`evaluating`). It is promoted if the lower ends of its lifts,
over what was logged and over what the policy now deciding would have done, are above 0, at all times. The reason is
written into the journal, with the numbers. What was logged alone would not do: a log of an even choice says of many
that they are better, also of one that is worse than what decides since. Who forces a candidate has decided: it is
promoted at once, and the journal says that nothing was judged. A roll-back makes a policy of the past a policy again:
it learns what closed since, too.

Who tries many candidates finds one that looks better by chance. So the k-th different policy that a loop is asked
about, to evaluate it or to promote it, may be wrong with probability α/(k(k+1)), at all times together, which sums to α
= 0.05 over all that ever come: that is how often a loop promotes by merit, ever, one that earned no more than the one
that decided then. The same one asked about again, while the same one decides, is the same one, and costs nothing. Each
is an entry of the journal, so that none can be taken back unseen. Whoever was judged beside a policy that decides no
more is not promoted: another candidate may have been, meanwhile. What is forced asks nothing, and is none of them.
"""

from typing import NamedTuple

import msgspec

from marginbandits.service.core import FORCED, ConflictError, Service, UnknownError
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.journal import CANDIDATE, Draft
from marginbandits.service.model import built
from marginbandits.service.records import Policy, Settings, Tried, encode_in_order
from marginbandits.service.requests import Candidate, Judged, Promotion
from marginbandits.service.wording import count

__all__ = ["back_to", "promote", "turn"]

ALPHA = 0.05
LITTLE = 0.05
"""A share of even choices with which a log says little of what its policy would not have done."""
WIDE = 0.2
"""An interval that is wider than this share of what was earned says little."""
_EXPLORE = "; what is never done cannot be judged: with `exploration` at 0.1 to 0.2 later events say more"


def turn(service: Service, name: str, policy: Policy, deciding: Policy, exploration: float | None = None) -> int:
    """Which of the different questions that a loop was ever asked this one is, from 1; if it is new, the next.

    With an exploration of its own a policy is another one.
    """
    own = encode_in_order(Tried(policy.learner, policy.parameters, policy.since, deciding.number, exploration))
    while True:
        changes = service.journal.changes()
        asked = [one.body for one in changes if (one.loop, one.kind) == (name, CANDIDATE)]
        if own in asked:
            return asked.index(own) + 1
        k = len(asked) + 1  # if another process has it meanwhile, there is nothing new
        service.writer.put(Draft(name, CANDIDATE, str(k), own, f"candidate:{k}")).result()


def promote(service: Service, name: str, candidate: Candidate) -> Promotion:
    """Judge, and promote or not; what is forced is promoted at once, and asks nothing."""
    loop = service.loop(name)
    settings, deciding = loop.settings, service.deciding(name)
    wanted = candidate.policy.policy(service.last_entry(), deciding)
    policy = msgspec.structs.replace(wanted, reward_range=settings.reward_range)
    if candidate.force:
        service.set(name, {}, policy)
        return Promotion(True, FORCED, None)
    built(policy)
    if (policy.learner, policy.parameters, policy.since) == (deciding.learner, deciding.parameters, deciding.since):
        return Promotion(False, f"policy {deciding.number}, which decides, is no other", None)
    k = turn(service, name, policy, deciding)
    level = 1.0 - ALPHA / (k * (k + 1))
    try:
        _, found = judged(service.journal, name, {policy.learner: Rival(policy)}, deciding, level=level)
    except ValueError as error:
        return Promotion(False, f"refused, as {error}", None)
    lifts = _lifts(found, deciding)
    seen = ", and ".join(f"between {one.low:.4g} and {one.high:.4g} over {one.over}" for one in lifts)
    told = f"the lift is {seen} ({100.0 * level:.4g}%, candidate {k}, by {count(found.events, 'event')})"
    failed = [one for one in lifts if one.low <= 0.0]
    if failed:
        return Promotion(False, f"refused: {told}; {_known(failed, found, settings)}", found)
    reason = f"promoted: {told}"
    service.set(name, {}, msgspec.structs.replace(policy, reason=reason), after=deciding)
    return Promotion(True, reason, found)


class _Lift(NamedTuple):
    """Over whom, and what it is between."""

    over: str
    low: float
    high: float


def _lifts(found: Judged, deciding: Policy) -> tuple[_Lift, _Lift]:
    return (
        _Lift(f"policy {deciding.number}, which decides", found.over_deciding_low, found.over_deciding_high),
        _Lift("what was logged", found.lift_low, found.lift_high),
    )


def _known(failed: list[_Lift], found: Judged, settings: Settings) -> str:
    """What is known of lifts that may be 0 or less: there is none, or how much there is at most, or nothing yet."""
    earned = found.logged - settings.reward_range[0]
    none = [one.over for one in failed if one.high <= 0.0]
    if none:
        return f"there is none over {' and '.join(none)}"
    narrow = [one for one in failed if one.high - one.low <= WIDE * earned]
    if narrow:
        least = min(narrow, key=lambda one: one.high)
        return f"at most {least.high:.4g} is to be had over {least.over}, where the log earned {found.logged:.4g}"
    return (
        f"too few events to tell, where the log earned {found.logged:.4g}{_EXPLORE * (settings.exploration < LITTLE)}"
    )


def back_to(service: Service, name: str, number: int) -> Policy:
    """The policy of this number decides again."""
    service.loop(name)
    found = next((one for one in service.policies(name) if one.number == number), None)
    if found is None:
        raise UnknownError(f"{name!r} never had a policy {number}")
    if service.deciding(name).number == number:
        raise ConflictError(f"policy {number} decides already")
    return service.set(name, {}, msgspec.structs.replace(found, reason=f"back to {number}")).model.policy
