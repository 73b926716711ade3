"""Out of a journal and into another: rewards in their own units, nothing half way, nothing left behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.service import core
from marginbandits.service.core import Service
from marginbandits.service.exporting import closed_events, export
from marginbandits.service.records import Offer, Past, Policy, Settings, decode
from marginbandits.service.replay import verified
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.warming import drafts
from tests.service.made import Shop

Opened = Callable[..., Shop]
EUROS = (0.0, 51.0)


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in words])


def spend(shop: Shop, n: int = 40) -> None:
    """Visitors of whom every third spends up to 51 euros; every second is known."""
    rng = np.random.default_rng(0)
    for k in range(n):
        more = {"unit": f"visitor {k}"} if k % 2 else {}
        answer = shop.decide(context={"age": float(k % 7), "user": {"country": "fr"}}, **more)
        if k % 3 == 0:
            shop.reward(answer.event_id, round(float(rng.uniform(0.0, 51.0)), 2))
        shop.clock.sleep(1.0)
    shop.pass_by(100.0)


def rewards(log: Any) -> list[float]:
    found = log.rounds()
    assert (found.rewards, found.within) == (True, EUROS)
    return list(found.outcomes)


@pytest.fixture
def shop(opened: Opened) -> Shop:
    made = opened(Settings(window=5, reward_range=EUROS, holdback=0.3))
    spend(made)
    return made


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "dsjson"])
def test_euros_survive_and_make_the_same_model(shop: Shop, tmp_path: Path, ending: str) -> None:
    file, other = tmp_path / f"shop.{ending}", tmp_path / "other"
    assert export(shop.service.journal, "shop", file).events == 40
    learnt, model = shop.loop.model.learnt, shop.loop.model.dumps()
    closed = [one.reward for one in _closed(shop)]
    assert rewards(mb.read_log(file)) == closed
    told = run("journal", "warm", other, file, "--loop", "shop", "--new")
    assert told.output == "40 events learnt, 0 were there already\n", told.output
    service = Service(Sqlite(other))
    warm = service.loop("shop")
    pasts = [decode(Past, one.body or b"") for one in service.journal.entries(0, 1000) if one.kind == "past"]
    settings, policy, found = warm.settings, warm.model.policy, (warm.model.learnt, warm.model.dumps())
    service.close()
    assert (settings.reward_range, policy.reward_range) == (EUROS, EUROS)
    assert [one.reward for one in pasts] == closed
    assert found == (learnt, model), "byte for byte"
    decided = [one.decided for one in _closed(shop)]
    assert [one.decided.unit for one in pasts] == [one.unit for one in decided]
    assert [one.decided.held for one in pasts] == [one.held for one in decided]
    assert any(one.held for one in decided)
    assert [one.decided.probabilities for one in pasts] == [one.probabilities for one in decided]


def _closed(shop: Shop) -> list[Any]:
    return list(closed_events(shop.service.journal, "shop"))


def test_evaluate_speaks_of_euros(shop: Shop, tmp_path: Path) -> None:
    mean = np.mean([one.reward for one in _closed(shop)])
    for ending in ("jsonl", "dsjson", "parquet"):
        export(shop.service.journal, "shop", tmp_path / f"shop.{ending}")
        told = run("evaluate", tmp_path / f"shop.{ending}", "--policy", "logged", "--method", "ips")
        assert told.exit_code == 0, told.output
        assert "The mean reward of the log's own policy" in told.output
        assert f"Between 0 and 51 that is {mean:.4g} (" in told.output, ending


def test_costs_of_vowpal_wabbit_are_rewards_with_their_signs_turned(shop: Shop, tmp_path: Path) -> None:
    export(shop.service.journal, "shop", tmp_path / "shop.vw")
    assert rewards(mb.read_log(tmp_path / "shop.vw", reward_range=EUROS)) == [one.reward for one in _closed(shop)]
    told = " ".join(run("evaluate", tmp_path / "shop.vw", "--policy", "uniform").output.split())
    assert "or say --reward-range LOW HIGH where costs are rewards with their signs turned" in told
    assert "--loss-range LOW HIGH" in told


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "dsjson"])
def test_one_scale_whatever_the_settings_were(opened: Opened, tmp_path: Path, ending: str) -> None:
    shop = opened(Settings(window=5))
    event = shop.decide().event_id
    shop.reward(event, 0.5)
    shop.pass_by(10)
    shop.service.set("shop", {"reward_range": [-2.0, 51.0]})
    event = shop.decide().event_id
    shop.reward(event, 25.0)
    shop.pass_by(10)
    export(shop.service.journal, "shop", tmp_path / f"shop.{ending}")
    found = mb.read_log(tmp_path / f"shop.{ending}").rounds()
    assert found.within == (-2.0, 51.0)
    assert list(found.outcomes) == [0.5, 25.0]  # type: ignore[arg-type]  # they are there
    assert found.losses == pytest.approx([50.5 / 53, 26 / 53])


def test_a_range_that_changes_in_a_file_is_refused(shop: Shop, tmp_path: Path) -> None:
    for ending in ("jsonl", "dsjson"):
        file = tmp_path / f"shop.{ending}"
        export(shop.service.journal, "shop", file)
        lines = [json.loads(one) for one in file.read_text().splitlines()]
        lines[7]["reward_high"] = 60.0
        file.write_text("\n".join(map(json.dumps, lines)))
        with pytest.raises(ValueError, match=f"{file.name}, line 8: reward_low and reward_high must be those of the"):
            mb.read_log(file).rounds()


def test_a_column_called_unit_is_context_where_no_range_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("unit,action,reward,probability\n3,a,1,0.5\n4,b,0,0.5\n")
    found = mb.read_log(tmp_path / "log.csv").rounds()
    assert found.contexts.tolist() == [[3.0], [4.0]]
    assert found.beside is None


def test_ids_and_names_that_a_format_cannot_hold(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=5))
    shop.decide(event_id="a space:and|more", context={"age": 1.0})
    shop.decide(event_id="b", context={"_hidden": 1.0})
    shop.decide(event_id="c", context={"a name": 1.0})
    shop.pass_by(10)
    folder = tmp_path / "out"
    folder.mkdir()
    for ending, n, why in (
        ("jsonl", 3, ""),
        ("parquet", 3, ""),
        ("dsjson", 2, "'_hidden' begins with _"),
        ("vw", 2, "'a name'"),
    ):
        told = run("journal", "export", tmp_path, folder / f"shop.{ending}", "--loop", "shop")
        assert told.exit_code == 0, told.output
        assert f"{n} events in" in told.stdout
        assert (f"{3 - n} left out" in told.stderr) == (n < 3)
        assert why in told.stderr
    keys = mb.read_log(folder / "shop.vw", reward_range=(0, 1)).rounds().keys
    assert keys == ["a%20space%3Aand%7Cmore", "b"]


def test_an_action_that_some_rounds_do_not_offer(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings(window=5), Policy("Uniform"))
    for k in range(60):
        answer = shop.decide(actions=["hat", "shoe"] if k % 3 else ["coat", "hat"])
        shop.reward(answer.event_id, float(answer.action == "shoe"))
    shop.pass_by(10)
    file = tmp_path / "shop.jsonl"
    export(shop.service.journal, "shop", file)
    refused = run("evaluate", file, "--policy", "always:shoe").output
    assert "shop.jsonl, line 1 offers ['coat', 'hat']; say always:shoe,else=uniform" in refused
    log = mb.read_log(file).rounds()
    here = np.array(["shoe" in one for one in log.offers or ()])
    taken = np.array([list(one)[place] for one, place in zip(log.offers or (), log.actions, strict=True)])
    for otherwise, name, p in (("uniform", "a uniform draw", 0.5), ("first", "the first", taken == "coat")):
        told = run("evaluate", file, "--policy", f"always:shoe,else={otherwise}", "--method", "ips", "--json")
        (found,) = json.loads(told.stdout)
        weights = np.where(here, taken == "shoe", p) / log.probabilities
        assert found["policy"] == f"always shoe, {name} where it is not offered"
        assert found["value"] == pytest.approx(np.mean(weights * np.asarray(log.outcomes)))
    for policy in "always:sheo", "always:sheo,else=first":
        unknown = run("evaluate", file, "--policy", policy)
        assert unknown.exit_code == 1
        assert "policy always:sheo: 'sheo' is offered in 0 of 60 rows; did you mean 'shoe'?" in unknown.output
        assert "else=" not in unknown.output
    assert "0 of 60 rows; there are ['coat', 'hat', 'shoe']" in run("evaluate", file, "--policy", "always:xyz").output
    assert "takes uniform or first, got 'last'" in run("evaluate", file, "--policy", "always:shoe,else=last").output


def test_nothing_to_write(opened: Opened, tmp_path: Path) -> None:
    opened(Settings())
    told = run("journal", "export", tmp_path, tmp_path / "x.jsonl", "--loop", "shop")
    assert "no event of 'shop' has closed" in told.output


ROW = {"context": {"a": 1}, "action": "x", "probability": 0.5, "reward": 1.0, "offers": {"x": {}, "y": {}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"action": "x" * 300, "offers": {"x" * 300: {}, "y": {}}},
            "line 3: actions[0].id must have at most 256 characters, got 300",
        ),
        ({"offers": {"x": {}, "y\0": {}}}, "line 3: actions[1].id must be text without zeros"),
        ({"offers": {"x": {}} | {str(k): {} for k in range(1000)}}, "line 3: actions must be at most 1000"),
        ({"key": "k" * 257}, "line 3: a key must have at most 256 characters"),
        ({"key": "k\0"}, "line 3: an id or key must be text without zeros"),
        ({"reward": 2.0}, "line 3: reward must be a number in [0, 1]"),
        ({"probability": 0.0}, "--skip"),
    ],
)
def test_a_row_that_is_none_of_a_decision_is_named_and_nothing_is_left(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    rows = [ROW | {"key": "1"}, ROW | {"key": "2"}, ROW | {"key": "3"} | change, ROW | {"key": "4"}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = run("journal", "warm", tmp_path / "new", tmp_path / "log.jsonl", "--loop", "shop", "--new")
    assert told.exit_code == 1
    assert message in told.output
    assert not (tmp_path / "new").exists()


def test_a_refused_log_leaves_a_journal_as_it_was(opened: Opened, tmp_path: Path) -> None:
    shop = opened(Settings())
    last = shop.service.journal.last()
    shop.close()
    (tmp_path / "log.jsonl").write_text(json.dumps(ROW | {"reward": 3.0}))
    words = ["journal", "warm", tmp_path, tmp_path / "log.jsonl", "--reward-range", 0, 5, "--loop"]
    told = run(*words, "shop")
    assert "line 1: reward 3 is beyond the reward_range of 'shop', 0 to 1" in told.output
    assert "no learner is called 'SquarCB'" in run(*words, "other", "--new", "--learner", "SquarCB").output
    shop = opened()
    assert shop.service.journal.last() == last
    assert list(shop.service.loops) == ["shop"]


def test_more_than_can_wait_for_the_disk_is_written(tmp_path: Path) -> None:
    with (tmp_path / "log.jsonl").open("w") as file:
        for k in range(5000):
            file.write(json.dumps(ROW | {"key": k}) + "\n")
    words = ["journal", "warm", tmp_path / "new", tmp_path / "log.jsonl", "--loop", "shop"]
    assert "has no loop 'shop': is it spelt so? --new makes it" in run(*words).output
    assert not (tmp_path / "new").exists()
    told = run(*words, "--new", "--learner", "Uniform")
    assert told.output == "5,000 events learnt, 0 were there already\n", told.output
    journal = Sqlite(tmp_path / "new", serving=False)
    assert not verified(journal).faults
    journal.close()


@pytest.mark.parametrize("ending", ["jsonl", "dsjson", "csv", "parquet", "jsonl.gz"])
def test_rows_without_keys_are_known_by_their_place(tmp_path: Path, ending: str) -> None:
    """One who was killed midway begins again; the same rows in another file are other rows."""
    plain, file = tmp_path / "plain.csv", tmp_path / f"log.{ending}"
    plain.write_text("age,action,reward,probability\n" + "1,a,1,0.5\n" * 30)
    if ending == "csv":
        plain.rename(file)
    else:
        assert run("convert", plain, file).exit_code == 0
    words = ["journal", "warm", tmp_path / "shop", "--loop", "shop"]
    rows = list(drafts("shop", mb.read_log(file), (0.0, 1.0)))
    assert all((one.key or "").startswith("row:") for one in rows)
    service = Service(Sqlite(tmp_path / "shop"))
    service.set("shop", Settings())
    service.writer.put_all(rows[:12]).result()  # and killed here
    service.close()
    for learnt, known in ((18, 12), (0, 30)):
        told = run(*words, file, *(["--loss-range", 0, 1] if ending == "dsjson" else []))
        assert told.output == f"{learnt} events learnt, {known} were there already\n", told.output
    other = tmp_path / "other.csv"
    other.write_text("age,action,reward,probability\n" + "1,a,1,0.5\n" * 20)
    assert run(*words, other).output == "20 events learnt, 0 were there already\n"


def test_learning_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps(ROW))

    def fails(self: Any) -> bool:
        if any(one.kind == "past" for one in self.journal.entries(0, 10)):
            raise RuntimeError("a learner broke")
        return bool(caught(self))

    caught = core.Service._catch_up
    monkeypatch.setattr(core.Service, "_catch_up", fails)
    told = run("journal", "warm", tmp_path / "new", tmp_path / "log.jsonl", "--loop", "shop", "--new")
    assert told.exit_code == 1
    assert "a learner broke" in told.output


LOGS = Path(__file__).parent.parent / "logs"
"""Events in the form that Vowpal Wabbit's clients and joiners write, with made-up values, and not written by `export`.

They were put together by hand after what those programs write: no file that one of them wrote is here.
"""


def taught(folder: Path) -> tuple[Settings, list[Past]]:
    """What a loop is set to, and the events that warmed it."""
    service = Service(Sqlite(folder))
    pasts = [decode(Past, one.body or b"") for one in service.journal.entries(0, 1000) if one.kind == "past"]
    settings, learnt = service.loop("cafe").settings, service.loop("cafe").model.learnt
    service.close()
    assert learnt == len(pasts)
    return settings, pasts


def names(pasts: list[Past]) -> list[str]:
    return [one.decided.actions[one.decided.chosen].id for one in pasts]


@pytest.mark.parametrize("span", [(0, 1), (-1, 1)])
def test_events_in_the_form_of_vowpal_wabbit_s_clients_warm_a_loop(tmp_path: Path, span: tuple[float, float]) -> None:
    words = ["journal", "warm", tmp_path / "cafe", LOGS / "cb_explore_adf.dsjson", "--loop", "cafe", "--new"]
    refused = run(*words)
    assert refused.exit_code == 1
    assert "--reward-range LOW HIGH" in refused.output
    assert not (tmp_path / "cafe").exists()
    told = run(*words, "--reward-range", *span)
    assert "4 events learnt, 0 were there already" in told.output, told.output
    settings, pasts = taught(tmp_path / "cafe")
    assert settings.reward_range == span
    assert [one.reward for one in pasts] == [1.0, 0.0, 0.75, 1.0], "costs with their signs turned, whatever the range"
    assert names(pasts) == ["cake", "bread", "soup", "cake"]
    first = pasts[0].decided
    assert first.context == {"FromUrl": {"daypart": "morning", "sky": "clear"}, "Geo": {"country": "PT"}}
    assert first.actions[2] == Offer("tea", {"i": {"constant": 1, "id": "tea"}, "j": {"price": 1.5, "vegan": "yes"}})
    laws = [[0.05, 0.85, 0.05, 0.05], [0.05, 0.85, 0.05, 0.05], [0.85, 0.075, 0.075], [0.85, 0.075, 0.075]]
    for one, law in zip(pasts, laws, strict=True):
        assert one.decided.probabilities == pytest.approx(law, rel=1e-6)
    again = run(*words, "--reward-range", *span)
    assert "0 events learnt, 4 were there already" in again.output, "by their EventId"


@pytest.mark.parametrize("skip", [(), ("--skip",)])
@pytest.mark.parametrize("cost", ["0", "0.5", "-0.5", "-1.0", "3"])
@pytest.mark.parametrize("ending", ["dsjson", "vw"])
def test_costs_without_a_range_are_refused_whatever_they_are(
    tmp_path: Path, ending: str, cost: str, skip: tuple[str, ...]
) -> None:
    """A cost of 0 may be a reward of 0 or one of 1: nobody knows, and rows are not to blame."""
    event = {
        "_label_cost": float(cost),
        "_label_probability": 0.5,
        "_labelIndex": 0,
        "a": [1, 2],
        "p": [0.5, 0.5],
        "c": {"_multi": [{"_tag": "a"}, {"_tag": "b"}]},
    }
    file = tmp_path / f"log.{ending}"
    file.write_text(f"{json.dumps(event)}\n" * 30 if ending == "dsjson" else f"1:{cost}:0.5 | age:3\n" * 30)
    words = ["journal", "warm", tmp_path / "cafe", file, "--loop", "cafe", "--new", *skip]
    refused = run(*words)
    assert refused.exit_code == 1
    (line,) = refused.output.splitlines()
    assert line.startswith(
        f"Error: {file} has costs, and does not say what they lie within: say --reward-range LOW HIGH"
    )
    assert "--skip" not in line
    assert not (tmp_path / "cafe").exists()
    told = run(*words, "--reward-range", -3, 3)
    assert told.output == "30 events learnt, 0 were there already\n", told.output
    assert [one.reward for one in taught(tmp_path / "cafe")[1]] == [-float(cost)] * 30


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    rows = [ROW, ROW | {"probability": 0.0}, ROW | {"reward": 3.0}, ROW | {"reward": 4.0}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = run("journal", "warm", tmp_path / "new", tmp_path / "log.jsonl", "--loop", "shop", "--new", "--skip")
    assert told.exit_code == 0, told.output
    assert told.stdout == "1 events learnt, 0 were there already\n"
    assert told.stderr.startswith("3 rows of the log left out: ")
    assert "2 x reward outside its range" in told.stderr


def test_events_without_ids_or_tags_that_were_kept_by_chance(tmp_path: Path) -> None:
    words = ["journal", "warm", tmp_path / "cafe", LOGS / "cb_explore_adf_pdrop.dsjson", "--loop", "cafe"]
    told = run(*words, "--new", "--reward-range", -2, 1)
    assert "2 events learnt, 0 were there already" in told.output, told.output
    settings, pasts = taught(tmp_path / "cafe")
    assert (settings.reward_range, [one.reward for one in pasts], names(pasts)) == (
        (-2.0, 1.0),
        [1.0, -2.0],
        ["2", "0"],
    )
    chosen = [one.decided.probabilities[one.decided.chosen] for one in pasts]
    assert chosen == pytest.approx([0.8166667, 0.0916666687])
    assert pasts[1].decided.context == {"shared": {"hour": "8"}}


def test_rewards_stay_what_they_are_in_a_loop_of_another_range(opened: Opened, tmp_path: Path) -> None:
    """As one of Personalizer's is, from -1 to 1."""
    shop = opened(Settings())
    shop.service.set("cafe", {"reward_range": [-1.0, 1.0]})
    shop.close()
    words = ["journal", "warm", tmp_path, LOGS / "cb_explore_adf.dsjson", "--loop", "cafe", "--reward-range", 0, 1]
    assert "4 events learnt" in run(*words).output
    settings, pasts = taught(tmp_path)
    assert settings.reward_range == (-1.0, 1.0)
    assert [one.reward for one in pasts] == [1.0, 0.0, 0.75, 1.0]
    opened()
