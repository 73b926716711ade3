"""From one policy to another: only if the loop's own journal says that it earns more, or because somebody says so.

A candidate is judged by every event the loop has closed (`evaluating`). It is promoted if the lower end of its lift
over what was logged is above 0, at 95%, at all times; or if it is forced. Either way the reason is written into the
journal, with the numbers. A roll-back makes a policy of the past a policy again: it learns what closed since, too.
"""

import msgspec

from marginbandits.service.core import ConflictError, Service, UnknownError
from marginbandits.service.evaluating import Judged, judged
from marginbandits.service.model import built
from marginbandits.service.records import Policy

__all__ = ["Candidate", "Promotion", "back_to", "promote"]


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy that is to decide from now on; `force` promotes it whatever the journal says."""

    policy: Policy
    force: bool = False


class Promotion(msgspec.Struct, frozen=True):
    """What became of a candidate; `judged` is None where there was nothing to judge by."""

    promoted: bool
    reason: str
    judged: Judged | None


def promote(service: Service, name: str, candidate: Candidate) -> Promotion:
    """Judge, and promote or not."""
    loop = service.loop(name)
    policy = msgspec.structs.replace(candidate.policy, reward_range=loop.settings.reward_range)
    built(policy)
    found: Judged | None = None
    try:
        (found,) = judged(service.journal, name, {policy.learner: policy})
    except ValueError as error:
        reason = str(error)
    else:
        reason = f"lift {found.lift:.4g}, from {found.lift_low:.4g} to {found.lift_high:.4g}, by {found.events} events"
    better = found is not None and found.lift_low > 0.0
    if not better and not candidate.force:
        return Promotion(False, reason, found)
    told = f"{'promoted' if better else 'forced'}: {reason}"
    service.set(name, loop.settings, msgspec.structs.replace(policy, reason=told))
    return Promotion(True, told, found)


def back_to(service: Service, name: str, number: int) -> Policy:
    """The policy of this number decides again."""
    loop = service.loop(name)
    found = next((one for one in service.policies(name) if one.number == number), None)
    if found is None:
        raise UnknownError(f"{name!r} never had a policy {number}")
    if loop.model.policy.number == number:
        raise ConflictError(f"policy {number} decides already")
    return service.set(name, loop.settings, msgspec.structs.replace(found, reason=f"back to {number}")).model.policy
