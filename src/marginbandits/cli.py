"""The command `marginbandits`."""

import sys
from pathlib import Path

import click

from marginbandits import __version__

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="marginbandits")
def main() -> None:
    """Contextual bandits with surrogate losses.

    Start with `marginbandits demo`: every learner on real data, a table and a picture, in about a minute.
    """


@main.command()
@click.option("--rounds", type=click.IntRange(min=50), help="Rounds to play; all 1797 images by default.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Repetitions per learner.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the picture.",
)
def demo(rounds: int | None, seeds: int, out: Path) -> None:
    """Play the learners on scikit-learn's digits and compare them.

    Each image is a context, each digit an action; the learner is told only whether its digit was right. Prints the
    mean loss of each learner with a 95% interval over seeds and draws the loss curves.
    """
    from marginbandits.experiments.demo import demo as run  # heavy imports wait until they are needed

    try:
        table = run(out, n_rounds=rounds, n_seeds=seeds, progress=sys.stderr.isatty())
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    click.echo(table)
