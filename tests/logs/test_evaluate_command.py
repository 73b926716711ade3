"""`marginbandits evaluate` and `learn`: what they say and write, and how they refuse."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.experiments.policy_words import policy
from tests.logs.examples import csv_log
from tests.logs.test_judging_logs import rows

ROLES = ["--action", "mail", "--reward", "visit", "--probability", "p", "--key", "id"]


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    few = rows(600)
    lines = [",".join(str(value) for value in one.values()) for one in few]
    return csv_log(tmp_path_factory.mktemp("mails"), lines, ",".join(few[0]))


def called(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


def test_policies_in_words_are_those_of_the_library(mails: Path, tmp_path: Path) -> None:
    log = mb.read_log(mails, action="mail", reward="visit", probability="p", key="id", beside=["new"])
    agent = mb.warm_start(mb.LinUCB(actions=log.labels, seed=0), log)
    agent.save(tmp_path / "agent.npz")
    words = ["always:hats", "column:new", "uniform", "logged", f"{tmp_path}/agent.npz", "LinUCB(alpha=0.2)"]
    # every policy is asked for the same contexts: `new` is no part of them
    result = called("evaluate", mails, *ROLES, *(f"--policy={one}" for one in words), "--context", "age,land", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    names = [
        *("always hats", "column 'new'", "a uniform draw", "the log's own policy", "LinUCB", "LinUCB, learning"),
    ]
    assert [one["policy"] for one in found[::2]] == names
    assert [one["method"] for one in found[:2]] == ["dr", "snips"]
    assert {one["outcome"] for one in found} == {"reward"}
    same = mb.evaluate("hats", log, outcome="reward")
    assert (found[0]["value"], found[0]["low"]) == (same.value, same.low)


def test_sentences_pages_and_differences(mails: Path, tmp_path: Path) -> None:
    words = ["--policy", "column:new", "--against", "logged", "--method", "ips", "--interval", "sequence"]
    result = called("evaluate", mails, *ROLES, *words[:6], "--out", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "The mean reward of column 'new' minus that of the log's own policy is 0." in result.output
    page = (tmp_path / "page.html").read_text()
    assert "effective sample size" in page
    assert "Rounds are independent of one another" in page
    result = called(
        "evaluate", mails, *ROLES, "--policy", "uniform", *words[4:], "--losses", "--out", tmp_path / "p.html"
    )
    assert "The mean loss of a uniform draw" in result.output
    assert "round by round" in (tmp_path / "p.html").read_text()


def test_what_is_doubtful_is_said_once(tmp_path: Path) -> None:
    few = [{**one, "p": 0.9} for one in rows(300)]
    path = csv_log(tmp_path, [",".join(str(value) for value in one.values()) for one in few], ",".join(few[0]))
    result = called("evaluate", path, *ROLES, "--policy", "always:hats")
    assert result.output.count("Beware: frequencies") == 1


@pytest.mark.parametrize("learner", ["MarginPolicy", "LinUCB(alpha=0.2)"])
def test_what_is_learnt_is_saved_and_judged(learner: str, mails: Path, tmp_path: Path) -> None:
    out, columns = tmp_path / "agent.npz", [*ROLES, "--context", "age,land"]
    result = called("learn", mails, *columns, "--out", out, "--learner", learner)
    assert result.exit_code == 0, result.output
    assert "600 rounds" in result.output
    assert mb.load(out).act({"age": 70, "land": "DE"}).action == "hats"
    result = called("evaluate", mails, *columns, "--policy", out, "--method", "snips")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "always:hat"], "no action is called 'hat'; did you mean 'hats'?"),
        (["--policy", "always"], "needs an action"),
        (["--policy", "alway:hats"], "did you mean 'always'?"),
        (["--policy", "column:nw"], "has no column 'nw' to keep beside; did you mean 'new'?"),
        (["--policy", "unifrom"], "did you mean 'uniform'?"),
        (["--policy", "LinUBC"], "did you mean 'LinUCB'?"),
        (["--policy", "LinUCB(alhpa=1)"], "did you mean 'alpha'?"),
        (["--policy", "agent.npz"], "there is no file agent.npz"),
        (["--policy", "uniform", "--against", "loged"], "did you mean 'logged'?"),
        (["--policy", "uniform", "--method", "sips"], "no method is called 'sips'; did you mean 'snips'?"),
        (["--policy", "uniform", "--interval", "hal"], "no interval is called 'hal'; did you mean 'hall'?"),
        (["--policy", "uniform", "--interval", "hall,normal"], "--interval takes one"),
        (["--policy", "uniform", "--level", "2"], "level must be"),
        (["--policy", "uniform", "--action", "mial"], "did you mean 'mail'?"),
        (["--policy", "uniform", "--interval", "sequence"], "do not look ahead"),
        ([], "Missing option '--policy'"),
    ],
)
def test_typos_are_answered(words: list[str], message: str, mails: Path) -> None:
    result = called("evaluate", mails, *ROLES, *words)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ("LinUBC", "did you mean 'LinUCB'?"),
        ("MarginPolcy", "did you mean 'MarginPolicy'?"),
        ("MarginPolicy(surogate=hinge)", "did you mean 'surrogate'?"),
        ("LinUCB(alhpa=1)", "did you mean 'alpha'?"),
        ("Supervised", "one loss a round"),
    ],
)
def test_learners_that_cannot_be_are_explained(learner: str, message: str, mails: Path, tmp_path: Path) -> None:
    result = called("learn", mails, *ROLES, "--out", tmp_path / "x.npz", "--learner", learner)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "x.npz").exists()


def test_a_label_that_no_row_has_is_refused_whatever_is_said_for_such_rows(tmp_path: Path) -> None:
    path = csv_log(tmp_path, ["1,a,1,0.5,a|b", "2,b,1,0.5,a|b"], "x,action,loss,probability,available")
    log = mb.read_log(path, actions=["a", "b", "c"])
    assert policy("always:b,else=first", log).name == "always b, the first where it is not offered"
    for text in "always:c", "always:c,else=first":
        with pytest.raises(ValueError, match=r"policy always:c: 'c' is offered in 0 of 2 rows; there are \['a', 'b'\]"):
            policy(text, log)
