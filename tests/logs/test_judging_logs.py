"""Logs, evaluation and learning together: what `read_log` gives is judged and learnt from, whatever its shape."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginbandits as mb
from marginbandits.experiments.log_policies import AsLogged, AtRandom, Column, Learning
from marginbandits.experiments.reward_models import Ridge

LABELS = ("hats", "none", "shoes")
COLUMNS: dict[str, Any] = {"action": "mail", "reward": "visit", "probability": "p", "key": "id", "beside": ["new"]}


def by_age(contexts: list[dict[str, Any]]) -> list[str]:
    return ["hats" if one["age"] > 50 else "shoes" for one in contexts]


def rows(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Visits are worth 0.4 where the mail suits the age, 0.1 elsewhere; so `by_age` is worth 0.4."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n):
        age, mail = int(rng.integers(18, 80)), int(rng.choice(3, p=[0.5, 0.2, 0.3]))
        suits = LABELS[mail] == by_age([{"age": age}])[0]
        found.append(
            {
                "id": k,
                "age": age,
                "land": str(rng.choice(["DE", "FR"])),
                "mail": LABELS[mail],
                "visit": int(rng.random() < (0.4 if suits else 0.1)),
                "p": [0.5, 0.2, 0.3][mail],
                "new": by_age([{"age": age}])[0],
            }
        )
    return found


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> mb.Log:
    path = tmp_path_factory.mktemp("mails") / "mails.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows(1500)))
    return mb.read_log(path, **COLUMNS)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> mb.Log:
    """Rounds that offer two to four items; the loss is as likely as the price is high, of ten."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("shop") / "shop.jsonl"
    with path.open("w") as file:
        for _ in range(1000):
            n = int(rng.integers(2, 5))
            offers = {f"a{i}": {"price": float(rng.integers(1, 9))} for i in rng.choice(9, n, replace=False)}
            names, law = list(offers), rng.dirichlet(np.ones(n)) * 0.5 + 0.5 / n
            a = int(rng.choice(n, p=law))
            one = {"context": {"age": int(rng.integers(18, 80))}, "offers": offers, "action": names[a]}
            loss = float(rng.random() < offers[names[a]]["price"] / 10)
            file.write(json.dumps({**one, "law": law.tolist(), "probability": float(law[a]), "loss": loss}) + "\n")
    return mb.read_log(path)


def cheapest(contexts: Any, offers: Any) -> list[str]:
    return [min(one, key=lambda name: one[name]["price"]) for one in offers]


# Names and values.


def test_every_kind_of_policy_of_names_is_the_same_policy(mails: mb.Log) -> None:
    rounds = mails.rounds()
    wanted = mb.evaluate(by_age, mails, outcome="reward")
    assert wanted.low <= 0.4 <= wanted.high
    laws = np.array([[float(one == label) for label in LABELS] for one in by_age(rounds.contexts)])
    for policy in (Column("new"), by_age(rounds.contexts), laws, lambda c: laws[: len(c)]):
        assert mb.evaluate(policy, rounds, outcome="reward").ends == pytest.approx(wanted.ends, rel=1e-9)
    weights = np.where(np.array(by_age(rounds.contexts)) == np.array(LABELS)[rounds.actions], 1.0, 0.0)
    weights /= rounds.probabilities
    naive = (weights * (1.0 - rounds.losses)).sum() / weights.sum()
    assert mb.evaluate(Column("new"), mails, method="snips", outcome="reward").value == pytest.approx(naive)
    for label, place in (("hats", 0), ("shoes", 2)):
        assert mb.evaluate(label, mails).ends == mb.evaluate(place, mails).ends


def test_the_model_of_names_finds_what_they_tell(mails: mb.Log) -> None:
    """Hats suit those above 50, shoes the others, and nothing else matters: so the model must say, out of fold."""
    rounds = mails.rounds()
    model = Ridge(3, folds=5)
    for part in mails:
        model.see(replace(part, start=0), part.losses)
    found = model.done().predict(rounds)
    ages = np.array([one["age"] for one in rounds.contexts])
    assert np.corrcoef(found[:, 0], ages)[0, 1] < -0.8
    assert np.corrcoef(found[:, 2], ages)[0, 1] > 0.8
    assert np.ptp(found[:, 1]) < np.ptp(found[:, 0])


def test_learners_are_judged_by_the_logs_own_names(mails: mb.Log) -> None:
    agent = mb.warm_start(mb.LinUCB(actions=["shoes", "hats", "none"], seed=0), mails)
    found = mb.evaluate(agent, mails, outcome="reward")
    rounds = mails.rounds()
    laws = np.asarray(agent.laws(rounds.contexts))[:, [1, 2, 0]]
    assert found.ends == mb.evaluate(laws, rounds, outcome="reward").ends
    assert found.value > 0.3
    learning = mb.evaluate(mb.LinUCB(actions=LABELS, seed=0), mails, method="snips", progressive=True)
    assert learning.ends == mb.evaluate(Learning(mb.LinUCB(actions=LABELS, seed=0)), mails, method="snips").ends


def test_the_logs_own_policy_is_worth_its_mean(mails: mb.Log) -> None:
    rounds = mails.rounds()
    for one in mb.evaluate(AsLogged(), mails, method=["ips", "snips", "dr"], outcome="loss"):
        assert one.value == pytest.approx(rounds.losses.mean())
        assert not one.warnings
    against = mb.evaluate(AtRandom(), mails, against=AsLogged())
    assert against.value == pytest.approx(mb.evaluate(AtRandom(), mails).value - (1.0 - rounds.losses.mean()))
    with pytest.raises(ValueError, match="needs its laws"):
        mb.evaluate(AtRandom(), mails, against=AsLogged(), method="ips", interval="sequence")


def test_lost_propensities_of_names_are_estimated_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "lost.jsonl"
    path.write_text("".join(json.dumps({name: one[name] for name in one if name != "p"}) + "\n" for one in rows(600)))
    log = mb.read_log(path, **{**COLUMNS, "probability": None})
    with pytest.raises(ValueError, match="log has no probabilities"):
        mb.evaluate("hats", log)
    found = mb.evaluate("hats", log, propensities="estimate", outcome="reward")
    assert found.estimated_propensities
    assert found.value == pytest.approx(0.25, abs=0.06)


# Offers.


def test_every_kind_of_policy_of_offers(shop: mb.Log) -> None:
    rounds = shop.rounds()
    offers = rounds.offers or []
    truth = np.mean([min(one.values(), key=lambda x: x["price"])["price"] / 10 for one in offers])
    ips, dr = mb.evaluate(cheapest, shop, method=["ips", "dr"])
    for one in (ips, dr):
        assert one.low <= truth <= one.high
        assert not one.warnings
    assert dr.error < 0.95 * ips.error
    names = cheapest(None, offers)
    sure = [[float(name == one) for name in offer] for one, offer in zip(names, offers, strict=True)]
    for policy in (
        names,
        sure,
        lambda c, o: [[float(n == m) for n in x] for m, x in zip(cheapest(c, o), o, strict=True)],
    ):
        assert mb.evaluate(policy, shop).ends == dr.ends
    first = mb.evaluate(0, shop, method="snips").value
    weights = (rounds.actions == 0) / rounds.probabilities
    assert first == pytest.approx((weights * rounds.losses).sum() / weights.sum())
    assert mb.evaluate(AsLogged(), shop, method="snips").value == pytest.approx(rounds.losses.mean())
    with pytest.raises(ValueError, match=r"policy must take one that is offered, got 'a3' in .*jsonl, line \d+"):
        mb.evaluate("a3", shop)


def test_learners_of_offers(shop: mb.Log) -> None:
    agent = mb.warm_start(mb.SquareCB(n_actions=2, seed=0), shop)
    taught = mb.evaluate(agent, shop)
    learning = mb.evaluate(mb.SquareCB(n_actions=2, seed=0), shop, progressive=True)
    assert taught.value < learning.value < mb.evaluate(AtRandom(), shop).value
    with pytest.raises(ValueError, match="no actions of its own"):
        mb.evaluate(mb.SquareCB(actions=["a1", "a2"], seed=0), shop)
    with pytest.raises(ValueError, match="for offers, `warm_start` a learner"):
        mb.MarginPolicy().fit(shop)


# Folders, and logs that are not held.


def in_files(folder: Path, n: int, parts: int) -> Path:
    whole = rows(n)
    for k in range(parts):
        path = folder / "part.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in whole[k * n // parts : (k + 1) * n // parts]))
        mb.write_log(mb.read_log(path, **{**COLUMNS, "beside": None}), folder / f"{k}.parquet")
        path.unlink()
    return folder


POLICIES: list[Any] = [lambda c: np.where([one["age"] > 50 for one in c], "hats", "shoes"), "none", AsLogged()]


@pytest.mark.parametrize("policy", POLICIES, ids=["function", "constant", "logged"])
def test_files_read_apart_give_the_same_numbers(policy: Any, tmp_path: Path) -> None:
    folder = in_files(tmp_path, 902, 3)
    options: dict[str, Any] = {"method": ["ips", "snips", "dr", "clipped"], "against": AtRandom()}

    def apart(work: Callable[[Any], Any], files: Iterable[Any]) -> Iterable[Any]:
        """In another order, as processes may end; but told in the files' own."""
        every = list(files)
        return [found for _, found in sorted(((i, work(every[i])) for i in (2, 0, 1)), key=lambda one: one[0])]

    whole = mb.evaluate(policy, mb.read_log(folder), **options)
    for one, other in zip(whole, mb.evaluate(policy, mb.read_log(folder), **options, spread=apart), strict=True):
        assert one.to_dict() == other.to_dict()
    assert len(mb.read_log(folder).files()) == 3


def test_names_that_come_in_some_files_alone_are_joined_by_name() -> None:
    """Sums of files that have each a name of their own, against the sums of all rounds."""
    rng = np.random.default_rng(0)
    lands = [["DE", "FR"] * 20, ["ES", "DE"] * 20, ["IT", "ES"] * 20]
    parts = [
        mb.Rounds([{"land": one} for one in own], np.arange(40) % 2, rng.random(40), labels=("a", "b")) for own in lands
    ]
    whole, joined = Ridge(2, folds=4), Ridge(2, folds=4)
    for model in (whole, joined):
        model.begin(parts[0])
    for part in parts:
        whole.see(part, part.losses)
        one = joined.fresh()
        one.see(part, part.losses)
        joined.join(one)
    whole.done()
    joined.done()
    for part in parts:
        assert joined.predict(part) == pytest.approx(whole.predict(part), abs=1e-12)


@pytest.mark.soak
def test_dask_with_two_workers_gives_the_same_numbers(tmp_path: Path) -> None:
    from marginbandits.experiments.dask_runner import over_files

    folder = in_files(tmp_path, 902, 3)
    whole = mb.evaluate("hats", mb.read_log(folder), method=["snips", "dr"], against=AsLogged())
    with over_files("local", workers=2) as spread:
        there = mb.evaluate("hats", mb.read_log(folder), method=["snips", "dr"], against=AsLogged(), spread=spread)
    for one, other in zip(whole, there, strict=True):
        assert tuple(one.ends) == pytest.approx(tuple(other.ends), rel=1e-12)


def test_what_needs_all_rounds_is_not_spread(tmp_path: Path) -> None:
    folder = in_files(tmp_path, 30, 2)
    agent, log = mb.LinUCB(actions=LABELS, seed=0), mb.read_log(folder)
    for policy, options in (
        (agent, {"progressive": True}),
        (["hats"] * 30, {}),
        ("hats", {"propensities": "estimate"}),
    ):
        with pytest.raises(ValueError, match="files read apart take policies as they stand"):
            mb.evaluate(policy, log, spread=map, **options)
    with pytest.raises(ValueError, match="files are read apart where there are some"):
        mb.evaluate("hats", log.rounds(), spread=map)


def test_a_log_is_never_held_where_it_need_not_be(mails: mb.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("all rounds at once")

    monkeypatch.setattr(mb.Rounds, "joined", refused)
    told: list[int] = []
    assert mb.evaluate("hats", mails, method="snips", progress=told.append).n == sum(told) == 1500
    mb.warm_start(mb.LinUCB(actions=LABELS, seed=0), mails)


# Learning.


def test_a_warm_start_from_a_log_is_one_round_after_another(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({**one, "visit": 500 * one["visit"]}) + "\n" for one in rows(60)))
    log = mb.read_log(path, **COLUMNS, reward_range=(0, 500), chunk=7)
    agent, twin = (mb.LinUCB(actions=LABELS, reward_range=(0, 500), seed=0) for _ in range(2))
    rounds = log.rounds()
    chances = np.asarray(rounds.probabilities)
    for i in range(60):
        decision = mb.Decision(rounds.name(i), chances[i])
        twin.learn(rounds.contexts[i], decision, reward=500 * (1 - rounds.losses[i]))
    assert mb.warm_start(agent, log) is agent
    assert np.allclose(agent.laws(rounds.contexts), twin.laws(rounds.contexts))
    assert agent.dumps() == twin.dumps()


def test_a_log_that_is_bad_at_its_end_teaches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    few = rows(40)
    few[39]["p"] = 0
    path.write_text("".join(json.dumps(one) + "\n" for one in few))
    agent = mb.LinUCB(actions=LABELS, seed=0)
    with pytest.raises(ValueError, match="line 40: probability must be"):
        mb.warm_start(agent, mb.read_log(path, **COLUMNS, chunk=7))
    assert agent.state() == {}
    with pytest.raises(ValueError, match="give a log alone"):
        mb.warm_start(agent, mb.read_log(path, **COLUMNS), [0], [0.5], [0.5])


def test_a_margin_policy_of_a_log_is_that_of_its_columns(mails: mb.Log) -> None:
    rounds = mails.rounds()
    names, reward = np.array(LABELS)[rounds.actions], 1.0 - rounds.losses
    policy = mb.MarginPolicy(regularisation=0.01).fit(mails)
    columns = mb.MarginPolicy(regularisation=0.01, actions=LABELS)
    columns.fit(rounds.contexts, names, rounds.losses, rounds.probabilities)
    assert np.array_equal(policy.leader_.weights, columns.leader_.weights)
    paid = mb.MarginPolicy(regularisation=0.01, actions=LABELS, reward_range=(0, 20))
    paid.fit(rounds.contexts, names, probabilities=rounds.probabilities, rewards=20 * reward)
    assert np.allclose(paid.leader_.weights, policy.leader_.weights)
    assert policy.certify(mails) == columns.certify(rounds.contexts, names, rounds.losses, rounds.probabilities)
    turned: Any = mb.MarginPolicy(regularisation=0.01, actions=["shoes", "none", "hats"]).fit(mails)
    assert mb.evaluate(turned, mails).value == pytest.approx(mb.evaluate(policy, mails).value, abs=0.01)
    assert mb.evaluate(turned, mails).policy == "MarginPolicy"
    X, p = rounds.contexts, rounds.probabilities
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: paid.fit(mails, names), "give a log alone"),
        (lambda: paid.fit(X, names, rounds.losses, p), "give rewards with reward_range"),
        (lambda: paid.fit(X, names, None, p), "losses must be given, or rewards"),
        (
            lambda: paid.fit(X, names, rewards=21 * reward, probabilities=p),
            "got 21 in round 0",
        ),
        (lambda: mb.MarginPolicy(actions=["hats", "none"]).fit(mails), "must have all of the log's"),
    ]
    for call, told in calls:
        with pytest.raises(ValueError, match=told):
            call()
