"""From one policy to another: only if the loop's own journal says that it earns more, or because somebody says so.

A candidate is judged by every event the loop has closed (`evaluating`). It is promoted if the lower ends of its lifts,
over what was logged and over what the policy now deciding would have done, are above 0, at all times; or if it is
forced. Either way the reason is written into the journal, with the numbers. What was logged alone would not do: a log
of an even choice says of many that they are better, also of one that is worse than what decides since. A roll-back
makes a policy of the past a policy again: it learns what closed since, too.

Who tries many candidates finds one that looks better by chance. So the k-th different policy that a loop is asked
about, to evaluate it or to promote it, may be wrong with probability α/(k(k+1)), at all times together, which sums to
α = 0.05 over all that ever come: that is how often a loop promotes, ever, one that earned no more than the one that
decided then. The same one asked about again, while the same one decides, is the same one, and costs nothing. Each is an
entry of the journal, so that none can be taken back unseen. Whoever was judged beside a policy that decides no more is
not promoted: another candidate may have been, meanwhile.
"""

import msgspec

from marginbandits.service.core import ConflictError, Service, UnknownError
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.journal import CANDIDATE, Draft
from marginbandits.service.model import built
from marginbandits.service.records import Policy, Tried, encode_in_order
from marginbandits.service.requests import Candidate, Judged, Promotion

__all__ = ["back_to", "promote", "turn"]

ALPHA = 0.05
LITTLE = 0.05
"""A share of even choices with which a log says little of what its policy would not have done."""
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
    """Judge, and promote or not."""
    loop = service.loop(name)
    settings, deciding = loop.settings, service.deciding(name)
    wanted = candidate.policy.policy(service.last_entry())
    policy = msgspec.structs.replace(wanted, reward_range=settings.reward_range)
    built(policy)
    k = turn(service, name, policy, deciding)
    level = 1.0 - ALPHA / (k * (k + 1))
    found: Judged | None = None
    try:
        _, found = judged(service.journal, name, {policy.learner: Rival(policy)}, deciding, level=level)
    except ValueError as error:
        reason = str(error)
    else:
        reason = (
            f"lift over policy {deciding.number}, which decides, {found.over_deciding:.4g}, from "
            f"{found.over_deciding_low:.4g} to {found.over_deciding_high:.4g}; over what was logged {found.lift:.4g}, "
            f"from {found.lift_low:.4g} to {found.lift_high:.4g} ({100.0 * level:.4g}%, candidate {k}), by "
            f"{found.events} events"
        )
    better = found is not None and min(found.lift_low, found.over_deciding_low) > 0.0
    if not better and not candidate.force:
        unseen = found is not None and found.over_deciding_high > 0.0 and settings.exploration < LITTLE
        why = reason if found is None else f"{_failed(found, deciding)}: {reason}"
        return Promotion(False, f"refused, as {why}{_EXPLORE * unseen}", found)
    told = f"{'promoted' if better else 'forced'}: {reason}"
    service.set(name, {}, msgspec.structs.replace(policy, reason=told), after=deciding)
    return Promotion(True, told, found)


def _failed(found: Judged, deciding: Policy) -> str:
    """Which of the two lifts is not surely above 0, and whether more events could change that."""
    ends = {
        f"over policy {deciding.number}": (found.over_deciding_low, found.over_deciding_high),
        "over what was logged": (found.lift_low, found.lift_high),
    }
    told = []
    for over, (low, high) in ends.items():
        if high <= 0.0:
            told.append(f"the lift {over} is surely not above 0 (its upper end is {high:.4g})")
        elif low <= 0.0:
            few = f"{found.events} events are too few to tell"
            told.append(f"the lift {over} may be 0 or less (its lower end is {low:.4g}): {few}")
    return ", and ".join(told)


def back_to(service: Service, name: str, number: int) -> Policy:
    """The policy of this number decides again."""
    service.loop(name)
    found = next((one for one in service.policies(name) if one.number == number), None)
    if found is None:
        raise UnknownError(f"{name!r} never had a policy {number}")
    if service.deciding(name).number == number:
        raise ConflictError(f"policy {number} decides already")
    return service.set(name, {}, msgspec.structs.replace(found, reason=f"back to {number}")).model.policy
