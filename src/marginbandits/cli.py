"""The command `marginbandits`: options here, what is written in them in `experiments.arguments`.

Whatever a user can cause is answered with a sentence and an exit status, never with a traceback.
"""

import shlex
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from marginbandits import __version__
from marginbandits.commands.bound import bound_command
from marginbandits.commands.evaluate import evaluate
from marginbandits.commands.journals import doctor, journal, replay
from marginbandits.commands.learn import learn
from marginbandits.commands.listing import list_everything
from marginbandits.commands.logs import convert
from marginbandits.commands.named import FILE, FOLDER
from marginbandits.commands.serve import keys, serve

if TYPE_CHECKING:
    from marginbandits.experiments.forecast import Forecast
    from marginbandits.experiments.plan import Plan
    from marginbandits.experiments.runner import Spread, Sweep
    from marginbandits.experiments.store import Store

__all__ = ["main"]

STORE = "results.sqlite"
REPORT = "report.html"
PAGE = "reproduce.html"
EVERY = 60.0
"""Seconds between two lines about progress where there is no terminal to draw a bar on."""


class _Explained(click.Group):
    """Bad input, files and memory are the user's to mend, with a sentence; what else is raised is a bug, and shows."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of a pipe left, as `head` does: click ends quietly
        except sqlite3.Error as error:
            raise click.ClickException(f"{STORE}: {error}; what was finished is kept") from error
        except MemoryError as error:
            raise click.ClickException(f"this needs more memory than there is: {error}") from error
        except (ValueError, ImportError, OSError, ArithmeticError) as error:
            raise click.ClickException(_one_line(error)) from error


@click.group(cls=_Explained, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="marginbandits")
def main() -> None:
    """Contextual bandits with surrogate losses.

    Start with `marginbandits bakeoff`: learners on real data, a leaderboard and a report, in about a minute.
    """


for command in (list_everything, bound_command, convert, evaluate, learn, serve, keys, journal, replay, doctor):
    main.add_command(command)


@main.command()
@click.option(
    "--data",
    default="breast_cancer,diabetes,digits,iris,wine",
    show_default=True,
    help="Tables, separated by commas: bundled names, openml:NUMBER, files (.npz with X and y, .csv, .parquet, .jsonl "
    "with an object on each line), or folders (every .npz in them, or if there is none every other file).",
)
@click.option("--learners", help="Learners, separated by commas, as in LinUCB,LinTS(scale=0.2); all by default.")
@click.option("--label", help="Label of .csv, .parquet and .jsonl files, if not called label, target, class or y.")
@click.option("--drop", default="", help="Columns or entries of these not to read, separated by commas: id,user.email.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop", "keep"]),
    default="refuse",
    show_default=True,
    help="Of .csv and .parquet files: refuse an empty cell, drop its row, or keep it, as a value of its own; then "
    "learners get rows by name, as they do from .jsonl, and a column may have any number of words.",
)
@click.option("--rounds", type=click.IntRange(min=1), default=3000, show_default=True, help="Rows to play, at most.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Orders to play them in.")
@click.option("--keep-order", is_flag=True, help="Play rows in the order of the file (data that drifts).")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster instead: its address, or `local`.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "torch:cpu", "torch:cuda", "cuda"]),
    help="Where learners of networks, HingeLMC(scores=Networks), are played, many at once; without it one at a time.",
)
@click.option("--plan", "plan_file", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="A TOML plan.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("bakeoff"),
    show_default=True,
    help="Folder for results and report; the same command again resumes there.",
)
def bakeoff(plan_file: Path | None, out: Path, jobs: int, dask: str | None, device: str | None, **options: Any) -> None:
    """Play learners on classification tables as bandits, and compare them.

    Each row is a context, each class an action; a learner is told only whether its class was right. Results are kept
    as they finish: interrupt it, kill it, run it again, and it goes on where it was.
    """
    from marginbandits.experiments.store import Store

    if plan_file is not None:
        _refuse_beside_a_plan(options)
    plan = _plan(plan_file, options)
    spread = _spread(dask, jobs)
    if device is not None:
        plan, spread = _on_device(plan, spread, "torch:cuda" if device == "cuda" else device)
    for note in plan.notes:
        click.echo(note, err=True)
    out.mkdir(parents=True, exist_ok=True)
    with Store(out / STORE) as store:
        sizes = f"{len(plan.learners)} learners x {len(plan.data)} data sets x {plan.seeds} seeds"
        failed = _run(plan, store, spread, f"{len(plan):,} tasks: {sizes}")
        _report(store, out)
        if failed:
            _say_why(store)
    if failed:
        raise click.ClickException(f"{failed} tasks failed; the report says why")


@main.command()
@click.option("--quick", is_flag=True, help="A first look, in about three minutes.")
@click.option("--only", metavar="CLAIMS", help="Claims to test, separated by commas; all by default.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster instead: its address, or `local`.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("reproduce"),
    show_default=True,
    help="Folder for results and page; the same command again resumes there.",
)
def reproduce(quick: bool, only: str | None, jobs: int, dask: str | None, out: Path) -> None:
    """Test the paper's claims by experiment, and write one page with a verdict for each.

    Every claim becomes experiments; the page says what the paper states, what was measured, and whether it holds,
    holds only as corrected, does not bite (uniform play keeps the bound, too), or is not seen at the horizons that can
    be played; and what becomes of each verdict when something is broken. Every finished experiment is kept: interrupt
    it, kill it, run it again, and it goes on where it was, with the same numbers.

    For example: marginbandits reproduce --quick --only calibration,figure-1
    """
    from marginbandits.experiments.claims import chosen
    from marginbandits.experiments.reproduce import Programme, text_lines, write_page
    from marginbandits.experiments.store import Store

    programme = Programme(chosen(only), quick)
    spread = _spread(dask, jobs)
    out.mkdir(parents=True, exist_ok=True)
    with Store(out / STORE) as store:
        claims = f"{len(programme.claims)} claim{'s' * (len(programme.claims) != 1)}"
        failed = _run(programme, store, spread, f"{len(programme):,} experiments for {claims}")
        findings = write_page(programme, store, out / PAGE)
    click.echo(f"{text_lines(findings)}\n\nPage: {out / PAGE}")
    if failed:
        raise click.ClickException(f"{failed} experiments failed; the page says why")


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--hindsight", is_flag=True, help="Add the best setting per data set of classes that ran with several.")
def report(folder: Path, hindsight: bool) -> None:
    """Write the report of a bake-off again, from what is stored in FOLDER."""
    with _opened(folder) as store:
        _report(store, folder, hindsight=hindsight)


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--format", "kind", type=click.Choice(["csv", "parquet"]), help="By default what --to ends in, else CSV.")
@click.option("--to", type=FILE, help="File; CSV goes to standard output if none.")
def export(folder: Path, kind: str | None, to: Path | None) -> None:
    """Write what was run last in FOLDER as a flat table.

    A bake-off has a line per finished task, a reproduction a line per number measured.
    """
    from marginbandits.experiments.export import to_csv, to_parquet
    from marginbandits.saving import write_text

    if kind is None and to is not None and to.suffix not in (".csv", ".parquet"):
        raise click.UsageError(f"--to must end in .csv or .parquet, got {to}; or say --format")
    kind = kind or ("parquet" if to is not None and to.suffix == ".parquet" else "csv")
    if kind == "parquet" and to is None:
        raise click.UsageError("Parquet is not text: give a file with --to")
    with _opened(folder) as store:
        if to is None:
            click.echo(to_csv(store), nl=False)
        elif kind == "csv":
            write_text(to, to_csv(store))
        else:
            to_parquet(store, to)


def _plan(plan_file: Path | None, options: dict[str, Any]) -> "Plan":
    from marginbandits.experiments.arguments import names, words
    from marginbandits.experiments.plan import Plan

    if plan_file is not None:
        return Plan.from_toml(plan_file)
    return Plan.of(
        data=words(options["data"]),
        learners=None if options["learners"] is None else words(options["learners"]),
        rounds=options["rounds"],
        seeds=options["seeds"],
        shuffle=not options["keep_order"],
        label=options["label"],
        drop=names(options["drop"]),
        missing=options["missing"],
    )


def _refuse_beside_a_plan(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    for name in options:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect beside --plan: put it into the file")


def _spread(dask: str | None, jobs: int) -> "Spread":
    from marginbandits.experiments.runner import locally

    if dask is None:
        return locally(jobs)
    from marginbandits.experiments.dask_runner import on_dask

    return on_dask(dask, workers=jobs)


def _on_device(plan: "Plan", spread: "Spread", device: str) -> "tuple[Plan, Spread]":
    """The plan with its networks there, in batches."""
    from dataclasses import replace

    from marginbandits.experiments.device_runner import on_device

    return replace(plan, device=device), on_device(spread)


def _run(sweep: "Sweep", store: "Store", spread: "Spread", words: str) -> int:
    """Say what there is to do, do it, and say how it goes; returns how many tasks failed."""
    from marginbandits.experiments.runner import run_plan

    store.set_facts({**sweep.facts(), "command": shlex.join(["marginbandits", *sys.argv[1:]])})
    keys = [task.key for task in sweep.tasks()]
    done, again = len(store.finished().keys() & set(keys)), len(keys) - len(set(keys))
    equal = f"{again:,} equal to others, " * (again > 0)
    click.echo(f"{words}; {equal}{done:,} done, {len(set(keys)) - done:,} to go", err=True)
    try:
        with _progress(len(set(keys)), done) as tell:
            return run_plan(sweep, store, spread, progress=tell)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending already: a second one would only interrupt that
        raise click.ClickException("interrupted; what was finished is kept, run the same command to go on") from None


@contextmanager
def _progress(total: int, done: int) -> "Iterator[Callable[[Forecast], None]]":
    """A bar on a terminal, else a line a minute; both with the time that finished tasks make likely."""
    from tqdm import tqdm

    from marginbandits.experiments.forecast import in_words

    last = time.monotonic()
    layout = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
    with tqdm(total=total, initial=done, disable=not sys.stderr.isatty(), bar_format=layout) as bar:

        def tell(forecast: "Forecast") -> None:
            nonlocal last
            bar.update()
            now = time.monotonic()
            if now - last < (EVERY if bar.disable else 1.0):
                return
            last, left = now, forecast.seconds_left()
            wait = "" if left is None else f"about {in_words(left)} left"
            bar.set_postfix_str(wait)
            if bar.disable:
                click.echo(f"{done + forecast.done:,} of {total:,} done{', ' * bool(wait)}{wait}", err=True)

        yield tell


def _report(store: "Store", out: Path, *, hindsight: bool = False) -> None:
    from marginbandits.experiments.report import result_sentence, text_table, write_report

    summary = write_report(store, out / REPORT, hindsight=hindsight)
    click.echo(f"{text_table(summary)}\n\n{result_sentence(summary)}\nReport: {out / REPORT}")


def _say_why(store: "Store") -> None:
    """The reasons of failed tasks, the first ten."""
    from marginbandits.experiments.results import bake_off

    for one in bake_off(store).reasons[:10]:
        click.echo(_shortened(one), err=True)


def _opened(folder: Path) -> "Store":
    from marginbandits.experiments.store import Store

    if not (folder / STORE).exists():
        raise click.ClickException(f"{folder} holds no {STORE}: give the folder of an earlier --out")
    return Store(folder / STORE)


def _one_line(error: BaseException) -> str:
    return _shortened(" ".join(str(error).split()))


def _shortened(words: str) -> str:
    return words if len(words) <= 400 else words[:400] + "…"
