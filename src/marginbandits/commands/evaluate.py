"""`marginbandits evaluate`: what policies would have lost, from a log of past decisions."""

import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from marginbandits.commands.logs import log_options, log_read, reading, refuse_source
from marginbandits.commands.named import FILE

if TYPE_CHECKING:
    from marginbandits.evaluation.off_policy.estimate import Estimate

__all__ = ["evaluate"]


@click.command()
@click.argument("source", metavar="LOG", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--policy",
    "policies",
    metavar="POLICY",
    multiple=True,
    required=True,
    help="always:LABEL (with ,else=uniform or ,else=first where rounds may not offer it), column:NAME, uniform, logged "
    "(the log's own), a saved agent.npz, or a learner by name, as LinUCB(alpha=0.2), which learns as it goes. May be "
    "given several times.",
)
@click.option("--against", metavar="POLICY", help="Another: differences to it are judged, round by round.")
@click.option("--method", "methods", default="dr,snips", show_default=True, help="Estimators, separated by commas.")
@click.option("--interval", default="hall", show_default=True, help="Of these: normal, hall, bootstrap, …")
@click.option("--level", type=float, default=0.95, show_default=True, help="What share of intervals is to cover.")
@click.option("--losses", is_flag=True, help="Judge losses, though the log has rewards.")
@click.option("--progressive", is_flag=True, help="Saved learners learn on from the log, as those by name do.")
@click.option("--estimate-propensities", is_flag=True, help="Guess lost probabilities from the contexts.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of learners and the bootstrap.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON: estimates, assumptions, diagnostics.")
@click.option("--out", type=FILE, help="Write a page with a picture there.")
@click.option("--dask", metavar="ADDRESS", help="Read a folder's files on a Dask cluster: its address, or `local`.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Processes, with --dask local.")
@log_options
def evaluate(
    source: Path,
    policies: tuple[str, ...],
    against: str | None,
    methods: str,
    interval: str,
    level: float,
    losses: bool,
    progressive: bool,
    estimate_propensities: bool,
    seed: int,
    as_json: bool,
    out: Path | None,
    dask: str | None,
    jobs: int,
    **options: Any,
) -> None:
    """Say what other policies would have earned on the decisions of a log, and how sure that is.

    LOG is .parquet (or a folder of such files), .csv, .jsonl, .vw or .dsjson: see `marginbandits convert --help`. Each
    estimate is a sentence with its interval; what is wrong with the log is said after it. Rewards are judged where the
    log has rewards, within [0, 1] of their range, and losses otherwise.

    For example: marginbandits evaluate visits.csv --action mail --reward visit --policy always:hats --against logged
    """
    from marginbandits.evaluation.off_policy.estimators import METHODS
    from marginbandits.evaluation.off_policy.judging import INTERVALS
    from marginbandits.experiments.arguments import chosen, words
    from marginbandits.experiments.evaluate import evaluate as judged
    from marginbandits.experiments.evaluation_page import write_page
    from marginbandits.experiments.policy_words import columns, policy

    wanted = sorted(chosen(methods, {name: name for name in METHODS}, "method"), key=words(methods).index)
    if len(kinds := chosen(interval, {name: name for name in INTERVALS}, "interval")) != 1:
        raise click.UsageError(f"--interval takes one, got {interval}")
    if out is not None:
        refuse_source(source, out)
    found: list[Estimate] = []
    with reading() as tell, ExitStack() as stack:
        log = log_read(source, options, columns([*policies, *([] if against is None else [against])]))
        spread = None
        if dask is not None:
            from marginbandits.experiments.dask_runner import over_files

            spread = stack.enter_context(over_files(dask, workers=jobs))
        other = None if against is None else policy(against, log, progressive=progressive, seed=seed)
        for text in policies:
            found += judged(
                policy(text, log, progressive=progressive, seed=seed),
                log,
                method=wanted,
                interval=kinds[0],
                level=level,
                against=other,
                outcome="loss" if losses else None,
                propensities="estimate" if estimate_propensities else "logged",
                seed=seed,
                progress=tell,
                spread=spread,
            )
    if as_json:
        click.echo(json.dumps([one.to_dict() for one in found], indent=2))
    else:
        click.echo("\n".join(_told(found)))
        if log.report is not None and (log.report.skipped or log.report.notes):
            click.echo(f"{source}: {log.report}")
    if out is not None:
        command = shlex.join(["marginbandits", *sys.argv[1:]])
        write_page(out, found, title=source.name, command=command, report=log.report)
        click.echo(f"Page: {out}", err=as_json)


def _told(estimates: "list[Estimate]") -> list[str]:
    """A sentence for each, and after those of a policy what to beware of in it, once."""
    lines: list[str] = []
    for place, one in enumerate(estimates):
        sentence, *doubts = str(one).split("\n")
        last = place + 1 == len(estimates) or estimates[place + 1].policy != one.policy
        lines += [sentence, *(doubts if last else ())]
    return lines
