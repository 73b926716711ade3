"""What can be done with a service's journal beside serving it: is it sound, write it out, copy it, feed it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from marginbandits.commands.logs import log_options, log_read, reading
from marginbandits.commands.named import FILE

if TYPE_CHECKING:
    from socket import socket

    from marginbandits.service.journal import Journal
    from marginbandits.service.records import Settings

__all__ = ["doctor", "journal", "journal_at", "listening_at", "needs_extra", "replay"]

_RANGE = (
    "does not say what they lie within: say --reward-range LOW HIGH where they are rewards with their signs turned, as "
    "most are (0 1, or -1 1), --loss-range LOW HIGH where they are costs"
)
_WHERE = click.argument("where", metavar="DIR")


@contextmanager
def needs_extra() -> Iterator[None]:
    """What is imported here is there with an extra."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{error}; the service needs the extra: pip install 'marginbandits[serve]'") from error


@contextmanager
def listening_at(where: str, host: str, port: int) -> Iterator["socket"]:
    """A socket to serve on."""
    with needs_extra():
        from marginbandits.service.serving import listening
    with listening(where, host, port) as found:
        yield found


@contextmanager
def journal_at(where: str, *, serving: bool = False, durability: str = "full") -> Iterator["Journal"]:
    """The journal of a folder, or of a database where it is the address of one; closed at the end.

    Whoever is `serving` closes windows and forgets what is old, so a clock that is far ahead is watched first.
    """
    with needs_extra():
        from marginbandits.service.journal import JournalError, begin
        from marginbandits.service.serving import opened
    try:
        found = opened(where, serving=serving, durability=durability)
        try:
            if serving:
                begin(found)
            yield found
        finally:
            found.close()
    except JournalError as error:
        raise click.ClickException(str(error)) from None
    except sqlite3.Error as error:
        raise click.ClickException(f"the journal of {where}: {error}") from error


@click.command()
@_WHERE
@click.option("--verify", is_flag=True, help="Fail if anything is not what the journal makes.")
def replay(where: str, verify: bool) -> None:
    """Make everything again from the journal: its chain, every decision's law and draw, and the model, byte for byte.

    DIR is the folder of a service, or the address of its database: postgresql://…

    For example: marginbandits replay shop --verify
    """
    from marginbandits.service.replay import verified

    with journal_at(where) as found:
        verdict = verified(found)
    made = (
        f"{verdict.entries:,} entries are chained, {verdict.decisions:,} decisions were drawn, "
        f"{verdict.laws:,} laws were made again"
        + (f", {verdict.erased:,} rest on what was erased" if verdict.erased else "")
    )
    broken = f"the chain of {verdict.entries:,} entries is broken, and nothing was made again from it"
    click.echo(made if verdict.chained else broken)
    for loop, one in verdict.models.items():
        behind = "" if one.entry == verdict.entries else f", of {verdict.entries:,}: what came since is not kept yet"
        of = f"policy {one.policy} after {one.learnt:,} events, as kept at entry {one.entry:,}{behind}"
        click.echo(f"model of {loop}: {one.sha256} ({of})")
    for fault in verdict.faults:
        click.echo(f"wrong: {fault}", err=True)
    if verdict.n_faults:
        click.echo(f"{verdict.n_faults:,} fault{'s' * (verdict.n_faults != 1)}", err=True)
        if verify:
            raise SystemExit(1)


@click.command()
@_WHERE
def doctor(where: str) -> None:
    """Say what a service's journal holds, whether it is whole, and what should be looked at.

    DIR is the folder of a service, or the address of its database: postgresql://…
    """
    from marginbandits.service.doctor import looked_at

    with journal_at(where) as found:
        report = looked_at(found)
    for line in report.lines:
        click.echo(line)
    for advice in report.advice:
        click.echo(f"look: {advice}")
    if report.ill:
        raise SystemExit(1)


@click.group()
def journal() -> None:
    """The journal of a service: write it out, copy it, or feed it another log.

    DIR is the folder of a service, or the address of its database: postgresql://…
    """


@journal.command()
@_WHERE
@click.argument("out", type=FILE)
@click.option("--loop", required=True, help="Whose events.")
def export(where: str, out: Path, loop: str) -> None:
    """Write the events of a loop that have closed to a log: .dsjson, .jsonl, .parquet or .vw.

    For example: marginbandits journal export shop shop.dsjson --loop shop; a server may run meanwhile.
    """
    from marginbandits.service.exporting import export

    if out.exists():
        raise click.UsageError(f"{out} is there already, and is not replaced")
    with journal_at(where) as found:
        if loop not in {one.loop for one in found.changes()}:
            raise click.ClickException(f"{where} has no loop {loop!r}")
        events, left_out, why = export(found, loop, out)
    click.echo(f"{events:,} events in {out}")
    if left_out:
        click.echo(f"{left_out:,} left out, as this format cannot hold them; the first is {why}", err=True)


@journal.command()
@_WHERE
@click.argument("out", type=FILE)
def backup(where: str, out: Path) -> None:
    """Copy the journal to one file, whole, while a server may write: as journal.sqlite3 in a folder it is one."""
    if not out.parent.is_dir():
        raise click.UsageError(f"there is no folder {out.parent}")
    with journal_at(where) as found:
        found.backup(str(out))
    click.echo(f"{out}: {out.stat().st_size:,} bytes")


@journal.command()
@_WHERE
@click.argument("log", type=click.Path(exists=True, path_type=Path))
@click.option("--loop", required=True, help="Who learns it.")
@click.option("--new", is_flag=True, help="Make the loop, and the journal, where they are not there yet.")
@click.option("--learner", help="Of a loop that is made, as in RegCB or LogisticTS(scale=1); SquareCB by default.")
@log_options
def warm(where: str, log: Path, loop: str, new: bool, learner: str | None, **options: Any) -> None:
    """Teach a loop a log of past decisions, before it decides itself, while no server runs.

    The log is looked at as a whole first: a row that is none of a decision is named, and nothing is written. The same
    log again teaches nothing twice, and the rest after a kill: a row is known by its key, or, without one, by its place
    in a file of the same bytes. A log of rewards outside [0, 1] says so (--reward-range -1 1). One of costs (.dsjson,
    .vw) always does: Personalizer's own, too. Exports of a service know their own, but for .vw.

    For example: marginbandits journal warm shop old.dsjson --loop shop --new --reward-range 0 1
    """
    from marginbandits.experiments.arguments import called

    with needs_extra():
        from marginbandits.service.core import Service
        from marginbandits.service.model import built
        from marginbandits.service.records import Policy, Settings, named
        from marginbandits.service.warming import drafts, warmed
        from marginbandits.service.wording import count

    named(loop)
    with reading() as tell:
        past, settings = log_read(log, options), _settings(where, loop)
        if not past.ranged:
            raise ValueError(f"{log} has costs, and {_RANGE}")
        declared = past.within if past.rewards and past.within is not None else (0.0, 1.0)
        low, high = declared if settings is None else settings.reward_range
        if settings is None and not new:
            raise ValueError(
                f"{where} has no loop {loop!r}: is it spelt so? --new makes it, and the journal if need be"
            )
        if settings is not None and learner is not None:
            raise ValueError(f"--learner is of a loop that is made, and {loop!r} is there: it learns by its own policy")
        policy = Policy(*called(learner or "SquareCB"), reward_range=(low, high))
        for _ in drafts(loop, past, (low, high), built(policy)):
            tell(1)
    with journal_at(where, serving=True) as found:
        service = Service(found)
        try:
            service.made(loop, Settings(reward_range=(low, high), default=min(max(0.0, low), high)), policy)
            fresh, known, skipped = warmed(service, loop, past)
        finally:
            service.close()
    refused = f"; the learner refused {skipped:,}" if skipped else ""
    click.echo(f"{fresh:,} events learnt, {known:,} were there already{refused}")
    if past.report is not None and past.report.skipped:
        reasons = ", ".join(f"{n:,} x {reason}" for reason, n in past.report.skipped.items())
        click.echo(f"{count(sum(past.report.skipped.values()), 'row')} of the log left out: {reasons}", err=True)


def _settings(where: str, loop: str) -> "Settings | None":
    """Those of a loop, if there is a journal, and it is there."""
    from marginbandits.service.loop import settings_of

    try:
        with journal_at(where) as found:
            return settings_of(loop, found.changes())
    except click.ClickException:  # there is none yet; or whoever opens it to write is told what is wrong with it
        return None
