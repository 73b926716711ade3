"""The command `marginbandits`: every argument is parsed here and nowhere else."""

import inspect
import re
import shlex
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from marginbandits import __version__

if TYPE_CHECKING:
    from marginbandits.experiments.plan import Plan
    from marginbandits.experiments.runner import Spread

__all__ = ["main"]

T = TypeVar("T")

STORE = "results.sqlite"
REPORT = "report.html"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="marginbandits")
def main() -> None:
    """Contextual bandits with surrogate losses.

    Start with `marginbandits bakeoff`: learners on real data, a leaderboard and a report, in about a minute.
    """


@main.command()
@click.option(
    "--data",
    default="breast_cancer,diabetes,digits,iris,wine",
    show_default=True,
    help="Tables, separated by commas: bundled names, openml:NUMBER, files (.npz with X and y, .csv, .parquet), or "
    "folders (every .npz in them, or if there is none every .csv and .parquet).",
)
@click.option("--learners", help="Learners, separated by commas, as in LinUCB,LinTS(scale=0.2); all by default.")
@click.option("--label", help="Label column of .csv and .parquet files, if not called label, target, class or y.")
@click.option("--rounds", type=click.IntRange(min=20), default=3000, show_default=True, help="Rows to play, at most.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Orders to play them in.")
@click.option("--keep-order", is_flag=True, help="Play rows in the order of the file (data that drifts).")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster instead: its address, or `local`.")
@click.option("--plan", "plan_file", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="A TOML plan.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("bakeoff"),
    show_default=True,
    help="Folder for results and report; the same command again resumes there.",
)
def bakeoff(plan_file: Path | None, out: Path, jobs: int, dask: str | None, **options: Any) -> None:
    """Play learners on classification tables as bandits, and compare them.

    Each row is a context, each class an action; a learner is told only whether its class was right. Results are kept
    as they finish: interrupt it, kill it, run it again, and it goes on where it was.
    """
    from marginbandits.experiments.runner import run_plan
    from marginbandits.experiments.store import Store

    if plan_file is not None:
        _refuse_beside_a_plan(options)
    plan = _explained(lambda: _plan(plan_file, options))
    spread = _explained(lambda: _spread(dask, jobs))
    out.mkdir(parents=True, exist_ok=True)
    try:
        with Store(out / STORE) as store:
            facts = _facts(plan)
            store.set_fact("plan", facts)
            done = len(store.finished().intersection(facts["keys"]))
            click.echo(_announcement(plan, done, jobs), err=True)
            failed = _with_progress(len(plan), done, lambda tick: run_plan(plan, store, spread, progress=tick))
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; what was finished is kept, run the same command to go on") from None
    except sqlite3.OperationalError as error:
        raise click.ClickException(f"{out / STORE}: {error}; what was finished is kept") from error
    _report(out)
    if failed:
        raise click.ClickException(f"{failed} tasks failed; their tracebacks are in the report")


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--hindsight", is_flag=True, help="Add the best setting per data set of classes that ran with several.")
def report(folder: Path, hindsight: bool) -> None:
    """Write the report of a bake-off again, from what is stored in FOLDER."""
    _report(_has_results(folder), hindsight=hindsight)


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--format", "kind", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="File; CSV goes to standard output if none."
)
def export(folder: Path, kind: str, to: Path | None) -> None:
    """Write one line per finished task of the bake-off in FOLDER."""
    from marginbandits.experiments.export import to_csv, to_parquet
    from marginbandits.experiments.store import Store

    with Store(_has_results(folder) / STORE) as store:
        if kind == "csv":
            text = to_csv(store)
            click.echo(text, nl=False) if to is None else to.write_text(text)
        elif to is None:
            raise click.UsageError("Parquet is not text: give a file with --to")
        else:
            _explained(lambda: to_parquet(store, to))


@main.command(name="list")
def list_everything() -> None:
    """Show the learners with their parameters, and the data sets that come along."""
    from marginbandits.environments.classification import BUNDLED
    from marginbandits.experiments.plan import nameable_learners
    from marginbandits.validation import constraints

    click.echo("Learners\n")
    for name, cls in sorted(nameable_learners().items()):
        click.echo(f"  {name}: {(inspect.getdoc(cls) or '').splitlines()[0]}")
        declared = constraints(cls.__init__)
        for parameter, signature in inspect.signature(cls).parameters.items():
            if parameter not in ("n_actions", "seed"):
                click.echo(f"      {parameter} = {signature.default!r}: {declared[parameter]}")
    click.echo(f"\nData sets\n\n  {', '.join(BUNDLED)}; openml:NUMBER; files and folders")


def _plan(plan_file: Path | None, options: dict[str, Any]) -> "Plan":
    from marginbandits.experiments.plan import Plan, known_learners

    if plan_file is not None:
        return Plan.from_toml(plan_file)
    learners = _split(options["learners"]) if options["learners"] else sorted(known_learners())
    return Plan.of(
        data=_split(options["data"]),
        learners=learners,
        rounds=options["rounds"],
        seeds=options["seeds"],
        shuffle=not options["keep_order"],
        label=options["label"],
    )


def _refuse_beside_a_plan(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    for name in options:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect beside --plan: put it into the file")


def _announcement(plan: "Plan", done: int, jobs: int) -> str:
    from marginbandits.experiments.runner import estimated_seconds

    left = len(plan) - done
    seconds = estimated_seconds(plan) * left / len(plan) / jobs if left else 0.0
    wait = f"{seconds / 60:.0f} minutes" if seconds > 90 else f"{seconds:.0f} seconds"
    return (
        f"{len(plan):,} tasks: {len(plan.learners)} learners x {len(plan.data)} data sets x {plan.seeds} seeds; "
        f"{done:,} done, {left:,} to go, about {wait}"
    )


def _facts(plan: "Plan") -> dict[str, Any]:
    return {
        "command": shlex.join(["marginbandits", *sys.argv[1:]]),
        "rounds": plan.rounds,
        "seeds": plan.seeds,
        "shuffle": plan.shuffle,
        "learners": [one.label for one in plan.learners],
        "data": [one.source for one in plan.data],
        "keys": [task.key for task in plan.tasks()],
    }


def _spread(dask: str | None, jobs: int) -> "Spread":
    from marginbandits.experiments.runner import locally

    if dask is None:
        return locally(jobs)
    from marginbandits.experiments.dask_runner import on_dask

    return on_dask(dask, workers=jobs)


def _with_progress(total: int, done: int, run: Callable[[Callable[[], object]], int]) -> int:
    from tqdm import tqdm

    with tqdm(total=total, initial=done, unit="task", disable=not sys.stderr.isatty(), smoothing=0.05) as bar:
        return run(bar.update)


def _report(out: Path, *, hindsight: bool = False) -> None:
    from marginbandits.experiments.report import result_sentence, text_table, write_report
    from marginbandits.experiments.store import Store

    with Store(out / STORE) as store:
        summary = _explained(lambda: write_report(store, out / REPORT, hindsight=hindsight))
    click.echo(f"{text_table(summary)}\n\n{result_sentence(summary)}\nReport: {out / REPORT}")


def _has_results(folder: Path) -> Path:
    if not (folder / STORE).exists():
        raise click.ClickException(f"{folder} holds no {STORE}: give the folder of a bake-off's --out")
    return folder


def _split(text: str) -> list[str]:
    """Words between commas, but not between those inside brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _explained(call: Callable[[], T]) -> T:
    """What went wrong, without a traceback: bad input is the user's to mend."""
    try:
        return call()
    except (ValueError, ImportError, OSError) as error:
        raise click.ClickException(str(error)) from error
