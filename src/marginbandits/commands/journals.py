"""What can be done with a service's journal beside serving it: is it sound, write it out, copy it, feed it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from marginbandits.service.journal import Journal

__all__ = ["doctor", "journal", "replay"]

_FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@contextmanager
def journal_of(folder: Path, *, serving: bool = False) -> Iterator["Journal"]:
    """The journal of a folder, or of a database where it is a URL; closed at the end."""
    from marginbandits.service.journal import JournalError
    from marginbandits.service.serving import opened

    text = str(folder)
    try:
        url = text.replace(":/", "://", 1) if text.startswith(("postgres:/", "postgresql:/")) else None
        found = opened(None if url else folder, url, serving=serving)
        try:
            yield found
        finally:
            found.close()
    except JournalError as error:
        raise click.ClickException(str(error)) from None


@click.command()
@_FOLDER
@click.option("--verify", is_flag=True, help="Fail if anything is not what the journal makes.")
def replay(folder: Path, verify: bool) -> None:
    """Make everything again from the journal: its chain, every decision's law and draw, and the model, byte for byte.

    For example: marginbandits replay shop --verify
    """
    from marginbandits.service.replay import verified

    with journal_of(folder) as found:
        verdict = verified(found)
    click.echo(
        f"{verdict.entries:,} entries are chained, {verdict.decisions:,} decisions were drawn, "
        f"{verdict.laws:,} laws were made again"
        + (f", {verdict.erased:,} rest on what was erased" if verdict.erased else "")
    )
    for loop, sha256 in verdict.models.items():
        click.echo(f"model of {loop}: {sha256}")
    for fault in verdict.faults:
        click.echo(f"wrong: {fault}", err=True)
    if verdict.n_faults:
        click.echo(f"{verdict.n_faults} faults", err=True)
        if verify:
            raise SystemExit(1)


@click.command()
@_FOLDER
def doctor(folder: Path) -> None:
    """Say what a service's journal holds, whether it is whole, and what should be looked at."""
    from marginbandits.service.doctor import looked_at

    with journal_of(folder) as found:
        report = looked_at(found)
    for line in report.lines:
        click.echo(line)
    for advice in report.advice:
        click.echo(f"look: {advice}")
    if report.ill:
        raise SystemExit(1)


@click.group()
def journal() -> None:
    """The journal of a service: write it out, copy it, or feed it another log."""


@journal.command()
@_FOLDER
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--loop", required=True, help="Whose events.")
def export(folder: Path, out: Path, loop: str) -> None:
    """Write the events of a loop that have closed to a log: .dsjson, .jsonl, .parquet or .vw.

    For example: marginbandits journal export shop shop.dsjson --loop shop; a server may run meanwhile.
    """
    from marginbandits.service.exporting import export

    with journal_of(folder) as found:
        if loop not in {one.loop for one in found.changes()}:
            raise click.ClickException(f"{folder} has no loop {loop!r}")
        click.echo(f"{export(found, loop, out):,} events in {out}")


@journal.command()
@_FOLDER
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def backup(folder: Path, out: Path) -> None:
    """Copy the journal to one file, whole, while a server may write: as journal.sqlite3 in a folder it is one."""
    with journal_of(folder) as found:
        found.backup(str(out))
    click.echo(f"{out}: {out.stat().st_size:,} bytes")


@journal.command()
@_FOLDER
@click.argument("log", type=click.Path(exists=True, path_type=Path))
@click.option("--loop", required=True, help="Who learns it; made if it is not there.")
@click.option("--learner", default="SquareCB", show_default=True, help="Of a loop that is made.")
@click.option("--low", type=float, default=0.0, show_default=True, help="The least reward of the log.")
@click.option("--high", type=float, default=1.0, show_default=True, help="The largest.")
def warm(folder: Path, log: Path, loop: str, learner: str, low: float, high: float) -> None:
    """Teach a loop a log of past decisions, before it decides itself, while no server runs.

    For example: marginbandits journal warm shop old.dsjson --loop shop
    """
    from marginbandits.environments.logs.log import read_log
    from marginbandits.service.core import Service
    from marginbandits.service.exporting import drafts
    from marginbandits.service.records import Policy, Settings

    with journal_of(folder, serving=True) as found:
        service = Service(found)
        try:
            if loop not in service.loops:
                service.set(loop, Settings(reward_range=(low, high)), Policy(learner=learner))
            own = service.loop(loop).settings.reward_range
            parts: Any = read_log(log, reward_range=(low, high))
            waiting = [service.writer.put(one) for one in drafts(loop, parts, own)]
            fresh = sum(one.result()[1] for one in waiting)
            service.settle()
            click.echo(f"{fresh:,} events learnt, {len(waiting) - fresh:,} were there already")
        finally:
            service.close()
