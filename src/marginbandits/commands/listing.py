"""`marginbandits list`: what there is to choose from."""

import inspect

import click

__all__ = ["list_everything"]


@click.command(name="list")
@click.option("--benchmark", is_flag=True, help="The 75 sets of the documents instead: sizes, and where each is found.")
def list_everything(benchmark: bool) -> None:
    """Show the learners and what they are made of, with their parameters, and the data sets that come along."""
    if benchmark:
        from marginbandits.environments.benchmark_sets import benchmark_table

        click.echo(benchmark_table())
        return
    from marginbandits.environments.classification import BUNDLED
    from marginbandits.experiments.parts import known_parts
    from marginbandits.experiments.specs import nameable_learners

    click.echo("Learners\n")
    for name, cls in sorted(nameable_learners().items()):
        _show(name, cls)
    click.echo("\nWhat learners are made of, as in HingeLMC(scores=Networks(width=32))\n")
    for name, part in sorted(known_parts().items()):
        _show(name, part)
    click.echo(f"\nData sets\n\n  {', '.join(BUNDLED)}; openml:NUMBER; files and folders")


def _show(name: str, cls: type) -> None:
    """A class in a line, and its parameters."""
    from marginbandits.experiments.specs import GIVEN
    from marginbandits.settled import rules

    click.echo(f"  {name}: {(inspect.getdoc(cls) or '').splitlines()[0]}")
    declared = rules(cls)
    for parameter, one in inspect.signature(cls).parameters.items():
        if parameter not in GIVEN:
            usual = "" if one.default is one.empty else f" = {one.default!r}"
            rule = f": {declared[parameter]}" if parameter in declared else ""
            click.echo(f"      {parameter}{usual}{rule}")
