"""The options by which every command reads a log of past decisions, and `convert`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from marginbandits.commands.named import FILE

if TYPE_CHECKING:
    from marginbandits.environments.logs.log import Log

__all__ = ["convert", "log_options", "log_read", "reading", "refuse_source"]

_ROLES = ("available", "law", "offers", "time", "key", "version")


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what is what in a log, for every command that reads one: see `log_read`."""
    several = "separated by commas"
    options = [
        click.option("--action", default="action", show_default=True, help="Column of the action that was taken."),
        click.option("--loss", help="Column of its loss."),
        click.option("--reward", help="Column of its reward, if that is what the log has."),
        click.option("--probability", default="probability", show_default=True, help="Column of its probability."),
        click.option("--no-probability", is_flag=True, help="The log has none: little can be learnt from it."),
        click.option("--context", help=f"Columns of the context, {several}; all that have no role by default."),
        click.option("--words", help=f"Columns of it that hold names, though they look like numbers, {several}."),
        *(click.option(f"--{role}", help=f"Column of {what}.") for role, what in _WHAT.items()),
        click.option("--actions", help=f"What actions there are, {several}; any other is bad."),
        click.option("--reward-range", type=(float, float), metavar="LOW HIGH", help="Rewards lie within these."),
        click.option("--loss-range", type=(float, float), metavar="LOW HIGH", help="Losses (or costs) do."),
        click.option("--format", type=click.Choice(["parquet", "csv", "jsonl", "vw", "dsjson"]), help="If unsaid."),
        click.option("--skip", is_flag=True, help="Leave out bad rows, and count them; otherwise they are an error."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_WHAT = {
    "available": "actions that were available",
    "law": "the law it was drawn from",
    "offers": "what the round offered, with features",
    "time": "its time",
    "key": "the key of the decision",
    "version": "the version of the policy",
}


_OPTIONS = {
    'bad="skip"': "--skip",
    "reward_range=(low, high)": "--reward-range LOW HIGH",
    "loss_range=(low, high)": "--loss-range LOW HIGH",
}
"""What arguments that errors name are called here."""


def log_read(source: Path, options: dict[str, Any], beside: list[str] | None = None) -> "Log":
    """The log that the options of `log_options` describe; columns `beside` are kept as they are."""
    from marginbandits.environments.logs.log import read_log
    from marginbandits.experiments.arguments import names

    context, words, actions = options["context"], options["words"], options["actions"]
    labels = None if actions is None else [int(one) if one.isdecimal() else one for one in names(actions)]
    return read_log(
        source,
        action=options["action"],
        loss=options["loss"],
        reward=options["reward"],
        probability=None if options["no_probability"] else options["probability"],
        context=None if context is None else list(names(context)),
        **{role: options[role] for role in _ROLES},
        beside=beside or None,
        words=None if words is None else list(names(words)),
        actions=labels,
        reward_range=options["reward_range"],
        loss_range=options["loss_range"],
        format=options["format"],
        bad="skip" if options["skip"] else "strict",
    )


def refuse_source(source: Path, target: Path) -> None:
    """What is written must have a folder, and not be what is read."""
    if not target.parent.is_dir():
        raise click.UsageError(f"there is no folder {target.parent}")
    if target.exists() and target.samefile(source):
        raise click.UsageError(f"{target} is the log itself: give another file to write to")


@contextmanager
def reading(total: int | None = None) -> Iterator[Callable[[int], object]]:
    """Tells of rounds as they are read, on a terminal; bad rows are shown a line each."""
    from tqdm import tqdm

    try:
        with tqdm(total=total, unit=" rounds", unit_scale=True, disable=not sys.stderr.isatty()) as bar:
            yield bar.update
    except ValueError as error:
        told = str(error)
        for argument, option in _OPTIONS.items():
            told = told.replace(argument, option)
        raise click.ClickException(told) from error


@click.command()
@click.argument("source", metavar="IN", type=click.Path(exists=True, path_type=Path))
@click.argument("target", metavar="OUT", type=FILE)
@log_options
def convert(source: Path, target: Path, **options: Any) -> None:
    """Check a log of past decisions, and write it in another format.

    IN is .parquet (or a folder of such files), .csv, .jsonl, .vw or .dsjson, OUT is .parquet, .jsonl, .vw or .dsjson;
    text may be compressed (.gz). Losses are written, within [0, 1].

    For example: marginbandits convert visits.csv visits.parquet --action mail --reward visit
    """
    from marginbandits.environments.logs.writing import write_log

    refuse_source(source, target)
    with reading() as tell:
        log = log_read(source, options)
        write_log(log, target, progress=tell)
    click.echo(f"{target}: {log.report}")
    if log.labels is not None:
        click.echo(f"{len(log.labels)} actions: {', '.join(map(str, log.labels[:20]))}{', …' * (len(log.labels) > 20)}")
