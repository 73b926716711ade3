"""`marginbandits bound`: what the paper promises for a class of regressors."""

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from marginbandits.theory.promises import Known

__all__ = ["bound_command"]


@click.command(name="bound")
@click.option("--finite", metavar="N", type=int, help="Class: N regressors.")
@click.option("--parametric", metavar="D", type=int, help="Class: D parameters; entropy D ln(B/ε).")
@click.option("--nonparametric", metavar="P", type=float, help="Class: entropy ε^-P.")
@click.option("--lipschitz", metavar="P", type=float, help="Class: 1-Lipschitz functions of P-dimensional contexts.")
@click.option("--rademacher", metavar="C", type=float, help="Class: sequential Rademacher complexity C√T.")
@click.option("--networks", metavar="C", type=float, help="Class: norm-bounded networks, of complexity C√T.")
@click.option("--trees", metavar="C", type=float, help="Class: decision trees of bounded depth, of complexity C√T.")
@click.option("--lp", metavar="Q D", type=(float, int), help="Class: linear predictors over ℓ_Q, 1 < Q <= 2, in R^D.")
@click.option("--actions", "n_actions", metavar="K", type=int, default=2, show_default=True, help="Actions.")
@click.option("--rounds", "horizon", metavar="T", type=int, default=100_000, show_default=True, help="Rounds.")
@click.option("--margin", metavar="γ", type=float, default=0.1, show_default=True, help="The margin γ.")
@click.option("--bound", metavar="B", type=float, default=1.0, show_default=True, help="The largest score B.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON: terms, parameters, conditions, references.")
def bound_command(n_actions: int, horizon: int, margin: float, bound: float, as_json: bool, **classes: Any) -> None:
    """What the paper promises for a class of regressors: every regret bound that applies.

    Name one class of regressors and the game: K actions, T rounds, margin γ. The answer is a line for each bound:
    its value, its value per round, whether it is vacuous (it allows losing every round), the T from which it
    is not, and the learner that attains it. A value marked ~ is stated up to constants and logarithms: it says how
    regret grows, not how large it is. Regret is over the benchmark in the last column, not over the best policy.

    For example: marginbandits bound --finite 1000 --actions 5 --rounds 20000 --margin 0.1
    """
    from marginbandits.theory import Game, promises_in_time
    from marginbandits.theory.promise_table import promise_table

    given = {name: value for name, value in classes.items() if value is not None}
    if len(given) != 1:
        names = ", ".join(f"--{name}" for name in classes)
        raise click.UsageError(f"name exactly one class of regressors ({names}), got {len(given)}")
    name, value = given.popitem()
    try:
        game = Game(n_actions, horizon, margin, bound)
        found = promises_in_time(_known_class(name, value, bound), game)
    except ValueError as error:
        argument, _, rest = str(error).partition(" ")
        option = {"n_actions": "actions", "horizon": "rounds", "margin": "margin", "bound": "bound"}.get(argument, name)
        raise click.UsageError(f"--{option}: {argument} {rest}") from error
    except ArithmeticError as error:
        shown = " ".join(str(one) for one in value) if isinstance(value, tuple) else value
        raise click.UsageError(f"--{name} {shown}: these bounds are beyond the largest number there is") from error
    if as_json:
        click.echo(json.dumps([{**one.bound.as_dict(), "useful_from": one.useful_from} for one in found], indent=2))
    else:
        click.echo(promise_table(found))


def _known_class(name: str, value: Any, bound: float) -> "Known":
    from marginbandits import theory

    if name == "finite":
        return theory.FiniteSize(value, radius=bound)
    if name == "parametric":
        return theory.Parametric(value, scale=bound, radius=bound)
    if name == "nonparametric":
        return theory.Power(value, radius=bound)
    if name == "lipschitz":
        return theory.LipschitzPolicies(value)
    roots = {"rademacher": theory.RademacherRoot, "networks": theory.Networks, "trees": theory.DecisionTrees}
    return roots[name](value) if name in roots else theory.LpLinear(*value)
