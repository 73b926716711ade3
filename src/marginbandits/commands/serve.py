"""`marginbandits serve`: a decision service on this machine; and the keys that open it."""

import contextlib
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import click

from marginbandits.commands.journals import journal_at, listening_at, needs_extra
from marginbandits.commands.named import FOLDER

__all__ = ["keys", "serve"]

_DATA = click.option("--data", type=FOLDER, help="Folder of the journal.")
_DATABASE = click.option("--database", metavar="URL", help="A PostgreSQL database instead: postgresql://….")


@click.command()
@_DATA
@_DATABASE
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one.")
@click.option(
    "--durability",
    type=click.Choice(["full", "process"]),
    default="full",
    show_default=True,
    help="full: an answer is on the disk. process: it survives the process, not the power.",
)
@click.option("--demo", is_flag=True, help="With simulated users of a loop called demo; without a folder, for once.")
def serve(data: Path | None, database: str | None, host: str, port: int, durability: str, demo: bool) -> None:
    """Decide, log, join rewards, learn, deploy: over HTTP, from a folder.

    Every decision is on disk, with its probabilities, before its answer leaves. The page at / shows what there is to
    see, /openapi.json what can be asked. To watch one at once: marginbandits serve --demo

    For example: marginbandits serve --data shop, and then

    \b
    curl -X PUT localhost:8080/loops/shop -d '{"new": true, "settings": {"window": 60}}'
    curl localhost:8080/loops/shop/decide -d '{"context": {"age": 31}, "actions": ["hat", "shoe"]}'
    """  # noqa: D301  # what click knows by is the character itself
    with contextlib.ExitStack() as stack:
        if demo and data is None and database is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        where = _where(data, database)
        found = stack.enter_context(listening_at(where, host, port))
        journal = stack.enter_context(journal_at(where, serving=True, durability=durability))
        from marginbandits.service.serving import serve

        serve(journal, found, str(data.absolute()) if data is not None else "the database", demo=demo)


def _where(data: Path | None, database: str | None) -> str:
    _refuse_other(database)
    if data is not None and database is None:
        return str(data)
    if database is not None and data is None:
        return database
    raise click.UsageError("give either --data FOLDER or --database URL")


def _refuse_other(database: str | None) -> None:
    """What is no PostgreSQL is no folder either."""
    if database is not None and not database.startswith(("postgresql://", "postgres://")):
        kind = f"{database.partition(':')[0][:40]}://" if "://" in database else database[:80]
        raise click.UsageError(f"--database must be postgresql://…, got {kind!r}")


@click.group()
def keys() -> None:
    """Keys of a service: make, list and revoke them; a running service sees it within seconds."""


@keys.command("make")
@_DATA
@_DATABASE
@click.option("--loop", default="*", show_default=True, help="The loop it opens; * opens all.")
@click.option("--scope", "scopes", multiple=True, required=True, help="decide, reward, read or admin; give it again.")
@click.option("--new", is_flag=True, help="For a loop, or a journal, that is not there yet.")
def make_key(data: Path | None, database: str | None, loop: str, scopes: tuple[str, ...], new: bool) -> None:
    """Make a key, and print it: it is not kept, and cannot be printed again.

    The first key shuts the door: from then on every request needs one. The key alone goes to standard output.
    """
    where = _where(data, database)
    with needs_extra():
        from marginbandits.service.keys import SHOWN, Keys, scoped
    scoped(loop, scopes)  # refused before anything is made
    fresh = new and (data is None or not (data / "journal.sqlite3").is_file())
    with journal_at(where, serving=fresh) as journal:
        keys = Keys(journal)
        first = not keys.all()
        secret = keys.make(loop, scopes, new=new)
        key = keys.find(secret)
        click.echo(secret)
        opens = "all loops" if loop == "*" else f"loop {loop}"
        click.echo(f"It opens {opens}, and is revoked by {key.sha256[:SHOWN] if key else ''}.", err=True)
        if first:
            click.echo("It is the first: from now on every request needs a key.", err=True)


@keys.command("list")
@_DATA
@_DATABASE
def list_keys(data: Path | None, database: str | None) -> None:
    """List keys by the beginnings of their hashes."""
    with journal_at(_where(data, database)) as journal:
        from marginbandits.service.keys import Keys

        for one in Keys(journal).all():
            made = datetime.fromtimestamp(one.made / 1e6, UTC)
            click.echo(f"{one.sha256[:8]}  {one.loop}  {','.join(one.scopes)}  {made:%Y-%m-%d %H:%M}")


@keys.command("revoke")
@_DATA
@_DATABASE
@click.argument("beginning")
def revoke_key(data: Path | None, database: str | None, beginning: str) -> None:
    """Take away the key whose hash begins so."""
    with journal_at(_where(data, database)) as journal:
        from marginbandits.service.keys import Keys

        click.echo(f"revoked {Keys(journal).revoke(beginning).sha256[:8]}")
