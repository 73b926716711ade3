"""`marginbandits serve`: a decision service on this machine; and the keys that open it."""

import contextlib
import tempfile
from datetime import UTC
from pathlib import Path

import click

__all__ = ["keys", "serve"]

_DATA = click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="Folder of the journal.")
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
    r"""Decide, log, join rewards, learn, deploy: over HTTP, from a folder.

    Every decision is on disk, with its probabilities, before its answer leaves. The page at / shows what there is to
    see, /openapi.json what can be asked. To watch one at once: marginbandits serve --demo

    For example: marginbandits serve --data shop, and then

    \b
    curl -X PUT localhost:8080/loops/shop -d '{"settings": {"window": 60}}'
    curl localhost:8080/loops/shop/decide -d '{"context": {"age": 31}, "actions": ["hat", "shoe"]}'
    """
    from marginbandits.service import serving

    with contextlib.ExitStack() as stack:
        if demo and data is None and database is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if (data is None) == (database is None):
            raise click.UsageError("give either --data FOLDER or --database URL")
        journal = serving.opened(data, database, serving=True, durability=durability)
        serving.serve(journal, host=host, port=port, demo=demo)


@click.group()
def keys() -> None:
    """Keys of a service: make, list and revoke them; a running service sees it within seconds."""


@keys.command("make")
@_DATA
@_DATABASE
@click.option("--loop", default="*", show_default=True, help="The loop it opens; * opens all.")
@click.option("--scope", "scopes", multiple=True, required=True, help="decide, reward, read or admin; give it again.")
def make_key(data: Path | None, database: str | None, loop: str, scopes: tuple[str, ...]) -> None:
    """Make a key, and print it: it is not kept, and cannot be printed again."""
    from marginbandits.service import keys, serving

    fresh = data is not None and not (data / "journal.sqlite3").is_file()
    journal = serving.opened(data, database, serving=fresh)  # a key may be made before there is anything else
    try:
        click.echo(keys.Keys(journal).make(loop, list(scopes)))  # type: ignore[arg-type]  # `make` says which there are
    finally:
        journal.close()


@keys.command("list")
@_DATA
@_DATABASE
def list_keys(data: Path | None, database: str | None) -> None:
    """List keys by the beginnings of their hashes."""
    from datetime import datetime

    from marginbandits.service import keys, serving

    journal = serving.opened(data, database, serving=False)
    try:
        for one in keys.Keys(journal).all():
            made = datetime.fromtimestamp(one.made / 1e6, UTC)
            click.echo(f"{one.sha256[:12]}  {one.loop}  {','.join(one.scopes)}  {made:%Y-%m-%d %H:%M}")
    finally:
        journal.close()


@keys.command("revoke")
@_DATA
@_DATABASE
@click.argument("beginning")
def revoke_key(data: Path | None, database: str | None, beginning: str) -> None:
    """Take away the key whose hash begins so."""
    from marginbandits.service import keys, serving

    journal = serving.opened(data, database, serving=False)
    try:
        click.echo(f"revoked {keys.Keys(journal).revoke(beginning).sha256[:12]}")
    finally:
        journal.close()
