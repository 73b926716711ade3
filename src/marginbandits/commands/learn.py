"""`marginbandits learn`: from a log of past decisions to a policy that can be served."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from marginbandits.commands.logs import log_options, log_read, reading, refuse_source
from marginbandits.commands.named import FILE

if TYPE_CHECKING:
    from marginbandits.environments.logs.log import Log
    from marginbandits.learners.base import Learner
    from marginbandits.learners.off_policy import MarginPolicy

__all__ = ["learn"]


@click.command()
@click.argument("source", metavar="LOG", type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=FILE, help="File to save it to.")
@click.option(
    "--learner",
    default="MarginPolicy",
    show_default=True,
    help="What is to learn: MarginPolicy(surrogate=hinge), or any learner, as in LinUCB(alpha=0.2), which can go on.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of its chance.")
@log_options
def learn(source: Path, out: Path, learner: str, seed: int, **options: Any) -> None:
    """Learn a policy from a log, and save it: `marginbandits.load` gives it back, to act or to learn on.

    MarginPolicy finds whom to treat how by cross-validation, and stays with the best action for all unless the log
    shows otherwise. Any other learner is taught the log round by round. What was learnt is to be judged on a log that
    it was not learnt from.

    For example: marginbandits learn spring.csv --action mail --reward visit --out agent.npz, then
    marginbandits evaluate summer.csv --action mail --reward visit --policy agent.npz --against logged
    """
    refuse_source(source, out)
    with reading() as tell:
        log = log_read(source, options)
        taught, told = _learnt(learner, log, seed, options, tell)
        taught.save(out)
    click.echo(told)
    if log.report is not None and (log.report.skipped or log.report.notes):
        click.echo(f"{source}: {log.report}")
    click.echo(f"{out}: judge it on other rounds by `marginbandits evaluate OTHER --policy {out}`")


def _learnt(
    text: str, log: "Log", seed: int, options: dict[str, Any], tell: Any
) -> "tuple[Learner | MarginPolicy, str]":
    from marginbandits.experiments.arguments import called
    from marginbandits.experiments.policy_words import built
    from marginbandits.experiments.specs import nameable_learners, spec
    from marginbandits.learners.off_policy import MarginPolicy
    from marginbandits.learners.warm import warm_start
    from marginbandits.validation import constraints, quoted, suggestion

    name, parameters = called(text)
    if name != "MarginPolicy":
        if name not in nameable_learners():
            known = ["MarginPolicy", *nameable_learners()]
            raise ValueError(f"no learner is called {quoted(name)}{suggestion(name[:80], known)}")
        ranges = {one: options[one] for one in ("reward_range", "loss_range") if options[one] is not None}
        agent = built(spec(name, parameters), log.labels, seed, **ranges)
        warm_start(agent, log, progress=tell)
        return agent, f"{name} has learnt {log.report.rounds if log.report else 0:,} rounds."
    allowed = [one for one in constraints(MarginPolicy.__init__) if one not in ("actions", "n_actions", "seed")]
    for one in parameters:
        if one not in allowed:
            raise ValueError(f"MarginPolicy has no parameter {quoted(one)}{suggestion(one[:80], allowed)}")
    policy = MarginPolicy(seed=seed, **parameters).fit(log)
    return policy, _chosen(policy, log.report.rounds if log.report else 0)


def _chosen(policy: "MarginPolicy", rounds: int) -> str:
    """What cross-validation found, in a sentence."""
    start = f"MarginPolicy has learnt from {rounds:,} rounds"
    if policy.regularisation_ is None:
        best = policy.classes_[int(policy.policy_._bias.argmax())]
        near = max(policy.candidates_[1:], key=lambda one: one.lead)
        return (
            f"{start}, and stays with {best} for all: the best other way led it by {near.lead:.4f} ± {near.error:.4f}, "
            f"less than {policy.caution:g} standard errors."
        )
    own = [one for one in policy.candidates_ if one.regularisation == policy.regularisation_]
    lead = f", {own[0].lead:.4f} ± {own[0].error:.4f} better than the best action for all" if own else ""
    return f"{start}: regularisation {policy.regularisation_:g}{lead}."
