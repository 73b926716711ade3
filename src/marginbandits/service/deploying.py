"""From one policy to another: only if the loop's own journal says that it earns more, or because somebody says so.

A candidate is judged by every event the loop has closed (`evaluating`). It is promoted if the lower end of its lift
over what was logged is above 0, at all times; or if it is forced. Either way the reason is written into the journal,
with the numbers. A roll-back makes a policy of the past a policy again: it learns what closed since, too.

Who tries many candidates finds one that looks better by chance. So the k-th different policy that a loop is asked
about, to evaluate it or to promote it, may be wrong with probability α/(k(k+1)), at all times together, which sums to
α = 0.05 over all that ever come: that is how often a loop promotes, ever, one that earned no more than what was logged.
The same one asked about again is the same one, and costs nothing.
"""

import itertools

import msgspec

from marginbandits.service.core import ConflictError, Service, UnknownError
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.journal import Journal
from marginbandits.service.model import built
from marginbandits.service.records import Policy
from marginbandits.service.requests import Candidate, Judged, Promotion

__all__ = ["back_to", "promote", "turn"]

ALPHA = 0.05


def turn(journal: Journal, loop: str, policy: Policy, exploration: float | None = None) -> int:
    """Which of the different policies that a loop was ever asked about this one is, from 1; if it is new, the next.

    With an exploration of its own it is another one.
    """
    told = [policy.learner, policy.parameters, policy.since, *([] if exploration is None else [exploration])]
    own = msgspec.json.encode(told, order="deterministic")
    for k in itertools.count(1):
        if journal.first(f"candidate/{loop}/{k}", own) == own:
            return k
    raise AssertionError("there is always a next number")


def promote(service: Service, name: str, candidate: Candidate) -> Promotion:
    """Judge, and promote or not."""
    loop = service.loop(name)
    wanted = candidate.policy.policy(service.last_entry())
    policy = msgspec.structs.replace(wanted, reward_range=loop.settings.reward_range)
    built(policy)
    k = turn(service.journal, name, policy)
    level = 1.0 - ALPHA / (k * (k + 1))
    found: Judged | None = None
    try:
        (found,) = judged(service.journal, name, {policy.learner: Rival(policy)}, level=level)
    except ValueError as error:
        reason = str(error)
    else:
        reason = (
            f"lift {found.lift:.4g}, from {found.lift_low:.4g} to {found.lift_high:.4g} ({100.0 * level:.4g}%, "
            f"candidate {k}), by {found.events} events"
        )
    better = found is not None and found.lift_low > 0.0
    if not better and not candidate.force:
        return Promotion(False, reason, found)
    told = f"{'promoted' if better else 'forced'}: {reason}"
    service.set(name, {}, msgspec.structs.replace(policy, reason=told))
    return Promotion(True, told, found)


def back_to(service: Service, name: str, number: int) -> Policy:
    """The policy of this number decides again."""
    loop = service.loop(name)
    found = next((one for one in service.policies(name) if one.number == number), None)
    if found is None:
        raise UnknownError(f"{name!r} never had a policy {number}")
    if loop.model.policy.number == number:
        raise ConflictError(f"policy {number} decides already")
    return service.set(name, {}, msgspec.structs.replace(found, reason=f"back to {number}")).model.policy
