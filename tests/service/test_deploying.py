"""Whether what is said of policies is true: intervals of lifts cover, and many candidates do not promote one by chance.

Loops are simulated, so that what every policy earns is known at every event.
"""

import dataclasses
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from marginbandits.service import deploying, evaluating
from marginbandits.service.core import ConflictError, Service
from marginbandits.service.deploying import ALPHA, promote, turn
from marginbandits.service.evaluating import DECIDING, Rival, judged
from marginbandits.service.journal import Entry
from marginbandits.service.model import Model
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Offer, Policy, Settings
from marginbandits.service.replay import verified
from marginbandits.service.requests import Candidate, Judged, Wanted
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop, web
from tests.service.postgres import Server
from tests.service.simulated import Simulated

ACTIONS = ["a", "b", "c"]
EVENTS, LOOPS = 400, 12
AT_FIRST, LATER = {"a": 0.1, "b": 0.6, "c": 0.1}, {"a": 0.4, "b": 0.0, "c": 0.4}
RIVALS = {"baseline": Rival("baseline"), "uniform": Rival("uniform"), "learns": Rival(Policy())}


class Kept:
    """Entries, as a journal gives them."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def entries(self, after: int, limit: int, until: int | None = None) -> list[Entry]:
        return self._entries[after : after + limit]

    def last(self) -> Entry:
        return self._entries[-1]

    def still(self) -> "AbstractContextManager[Kept]":
        return nullcontext(self)


class Recorded(Model):
    """A rival whose laws are remembered."""

    remembered: ClassVar[list[list[float]]] = []

    def law(self, context: Any, actions: list[Offer]) -> tuple[list[float], int]:
        law, learnt = super().law(context, actions)
        self.remembered.append(law)
        return law, learnt


def looked_at(seed: int, monkeypatch: pytest.MonkeyPatch, level: float) -> dict[str, tuple[Judged, float]]:
    """A loop in a world that changes half way: of each rival what is said, and its lift as it was."""
    rng = random.Random(seed)
    learner = "SquareCB" if seed % 2 else "Uniform"
    shop = Simulated(Settings(window=60, holdback=0.1), Policy(learner=learner, number=1), secret=bytes([seed]))
    worth, logged = [], []
    for k in range(EVENTS):
        values = AT_FIRST if k < EVENTS // 2 else LATER
        event, decided = shop.decide(ACTIONS, context={"x": float(rng.random())})
        worth.append(values)
        logged.append(sum(p * values[one] for p, one in zip(decided.probabilities, ACTIONS, strict=True)))
        if rng.random() < values[ACTIONS[decided.chosen]]:
            shop.reward(event, 1.0)
        shop.wait(10.0)
    shop.wait(1000.0)
    monkeypatch.setattr(Recorded, "remembered", [])
    monkeypatch.setattr(evaluating, "Model", Recorded)
    told = judged(Kept(shop.entries), "shop", RIVALS, Policy("Uniform"), level=level)  # type: ignore[arg-type]  # it takes no more
    uniform, asked = [1 / 3] * 3, Recorded.remembered
    assert asked[::2] == [uniform] * EVENTS, "the one that decides is asked first"
    laws = {"baseline": [[1.0, 0.0, 0.0]] * EVENTS, "uniform": [uniform] * EVENTS, "learns": asked[1::2]}
    found = {}
    for one in told:
        if one.rival == DECIDING:
            continue
        earned = [
            sum(p * values[a] for p, a in zip(law, ACTIONS, strict=True))
            for law, values in zip(laws[one.rival], worth, strict=True)
        ]
        found[one.rival] = one, (sum(earned) - sum(logged)) / EVENTS
    return found


def wrong_loops(monkeypatch: pytest.MonkeyPatch, level: float) -> int:
    several = [looked_at(seed, monkeypatch, level) for seed in range(LOOPS)]
    wrong = [[not told.lift_low <= truth <= told.lift_high for told, truth in one.values()] for one in several]
    return sum(map(any, wrong))


def test_intervals_of_lifts_cover_though_policies_learn_and_the_world_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three intervals of a loop one is wrong with probability 15% at most; in 6 loops of 12 with 0.5%."""
    assert wrong_loops(monkeypatch, 0.95) <= 5


def test_and_the_test_would_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = vars(evaluating)["value"]

    def narrow(*given: Any, **more: Any) -> Any:
        found: Any = value(*given, **more)
        room = [(end - found.value) / 10.0 for end in (found.low, found.high)]
        return dataclasses.replace(found, low=found.value + room[0], high=found.value + room[1])

    monkeypatch.setattr(evaluating, "value", narrow)
    assert wrong_loops(monkeypatch, 0.95) > 5


class TestManyCandidates:
    def test_each_new_one_is_judged_more_strictly_and_the_same_one_is_the_same(
        self, opened: Callable[..., Shop]
    ) -> None:
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(30)
        wanted = [Wanted("SquareCB"), Wanted("RegCB"), Wanted("SquareCB"), Wanted("SquareCB", {"scale": 3.0})]
        found = [promote(shop.service, "shop", Candidate(one)).judged for one in wanted]
        levels = [one.level for one in found if one is not None]
        assert levels == pytest.approx([1 - ALPHA / 2, 1 - ALPHA / 6, 1 - ALPHA / 2, 1 - ALPHA / 12])
        assert found[0] is not None
        now = shop.loop.model.policy
        assert found[2] == found[0]
        assert turn(shop.service, "shop", Policy("RegCB", reason="whatever", number=9), now) == 2
        shop.service.set("other", {})
        assert turn(shop.service, "other", Policy("RegCB"), now) == 1
        assert turn(shop.service, "shop", Policy("RegCB"), Policy(number=2)) == 4, "than another it is another"
        several = [Policy("Bag", {"n_policies": 3, "seed": 1}), Policy("Bag", {"seed": 1, "n_policies": 3})]
        assert [turn(shop.service, "shop", one, now) for one in several] == [5, 5], "in whatever order it is written"
        spent = sum(ALPHA / (k * (k + 1)) for k in range(1, 100_000))
        assert spent < ALPHA

    def test_what_was_evaluated_counts(self, opened: Callable[..., Shop]) -> None:
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(10)
        client = web(shop)
        asked = {"policies": {"one": {"learner": "RegCB"}, "two": {"learner": "SquareCB"}}}
        told = client.post("/loops/shop/evaluate", json=asked).json()
        assert [one["level"] for one in told] == [0.95] * 5
        assert [one["rival"] for one in told] == ["deciding", "baseline", "uniform", "one", "two"]
        assert [one["over_deciding"] for one in told][::2] == [0.0, told[2]["lift"], told[4]["over_deciding"]]
        assert turn(shop.service, "shop", Policy("LinUCB"), shop.loop.model.policy) == 3
        assert (
            "candidate 2"
            in client.post("/loops/shop/policies", json={"policy": {"learner": "SquareCB"}}).json()["reason"]
        )

    def test_how_many_there_were_cannot_be_taken_back_unseen(self, opened: Callable[..., Shop], tmp_path: Path) -> None:
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(10)
        for learner in ("RegCB", "SquareCB"):
            promote(shop.service, "shop", Candidate(Wanted(learner)))
        shop.play(10)
        assert verified(shop.service.journal).faults == []
        shop.close()
        with closing(sqlite3.connect(tmp_path / "journal.sqlite3")) as db:
            db.execute("DELETE FROM fact WHERE name NOT LIKE 'secret/%'")
            db.execute("DELETE FROM entry WHERE kind = 'candidate'")
            db.commit()
        with closing(Sqlite(tmp_path, serving=False)) as journal:
            assert any("missing" in one for one in verified(journal).faults)

    def test_two_processes_that_ask_at_once_have_numbers_of_their_own(self, postgres: Server) -> None:
        url = postgres.database()
        one, other = (Service(Postgres(url)) for _ in range(2))
        try:
            one.set("shop", {})
            asked = [Policy("RegCB", {"seed": k}) for k in range(8)]
            with ThreadPoolExecutor() as pool:
                several = [pool.submit(turn, who, "shop", each, Policy()) for each in asked for who in (one, other)]
                found = [each.result() for each in several]
        finally:
            other.close()
            one.close()
        assert found[::2] == found[1::2], "the same has the same, whoever asks"
        assert sorted(found[::2]) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_who_was_judged_beside_one_that_decides_no_more_is_not_promoted(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile somebody sets the loop, which is no reason; then another policy is promoted, which is."""
    url = "" if kind == "sqlite" else request.getfixturevalue("postgres").database()
    service = Service(Postgres(url) if url else Sqlite(tmp_path))
    other = Service(Postgres(url)) if url else service

    better = Judged("better", 900, 0.4, 0.3, 0.5, 0.1, 0.05, 0.2, 0.1, 0.05, 0.2, 0.3, 0.975)

    def meanwhile(act: Callable[[], object]) -> None:
        def slow(*given: Any, **more: Any) -> Any:
            act()
            return [better, better]

        monkeypatch.setattr(deploying, "judged", slow)

    try:
        service.set("shop", {"window": 5.0})
        meanwhile(lambda: other.set("shop", {"holdback": 0.1}))
        assert promote(service, "shop", Candidate(Wanted("RegCB"))).promoted
        meanwhile(lambda: other.set("shop", {}, Policy("LinUCB")))
        with pytest.raises(ConflictError, match="policy 3 decides since, not 2"):
            promote(service, "shop", Candidate(Wanted("Uniform")))
        assert [one.learner for one in service.policies("shop")] == ["SquareCB", "RegCB", "LinUCB"]
        meanwhile(lambda: None)
        assert promote(service, "shop", Candidate(Wanted("Uniform"))).promoted
    finally:
        if other is not service:
            other.close()
        service.close()


def test_what_is_told_is_within_its_own_interval() -> None:
    """One event that a rival would have had twenty times as often: no lift is more than there can be."""
    found, one = np.array([[20.0, 0.95, 0.95]]), np.ones(1)
    told = evaluating._judged("rival", found, one, one, (0.0, 1.0), 0.95)
    assert told.low <= told.reward <= told.high <= 1.0
    assert told.lift_low <= told.lift <= told.lift_high <= 1.0
    assert told.over_deciding_low <= told.over_deciding <= told.over_deciding_high <= 1.0


class TestTheOneThatDecides:
    def test_a_worse_one_is_not_promoted_though_it_is_better_than_what_was_logged(
        self, opened: Callable[..., Shop]
    ) -> None:
        """The log is of an even choice: half as good as what decides since is better than that."""
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(400)
        first = promote(shop.service, "shop", Candidate(Wanted("SquareCB")))
        assert first.promoted
        assert first.judged is not None
        assert first.judged.over_deciding == pytest.approx(first.judged.lift, abs=0.05), "an even choice decided"
        worse = Candidate(Wanted("EpsilonGreedy", {"epsilon": 0.5}))
        refused = promote(shop.service, "shop", worse)
        assert not refused.promoted
        assert refused.judged is not None
        assert refused.judged.lift_low > 0.0 > refused.judged.over_deciding
        told = refused.judged
        over, logged = (told.over_deciding_low, told.over_deciding_high), (told.lift_low, told.lift_high)
        assert refused.reason.startswith(
            f"refused: the lift is between {over[0]:.4g} and {over[1]:.4g} over policy 2, which decides, and between "
            f"{logged[0]:.4g} and {logged[1]:.4g} over what was logged ("
        )
        assert f"candidate 2, by {told.events} events); " in refused.reason
        assert refused.reason.count("over what was logged") == 1, "that one was passed"

    def test_a_refusal_says_what_is_known(self, opened: Callable[..., Shop]) -> None:
        shop = opened(Settings(window=5))
        nothing = promote(shop.service, "shop", Candidate(Wanted("RegCB"))).reason
        assert nothing.startswith("refused, as no event that was decided Online has closed")
        shop.play(20)
        few = promote(shop.service, "shop", Candidate(Wanted("RegCB")))
        assert few.judged is not None
        assert (
            f"; too few events to tell, where the log earned {few.judged.logged:.4g}; what is never done" in few.reason
        )

    @pytest.mark.parametrize(
        ("over_deciding", "logged", "said"),
        [
            ((-0.01, 0.012), (0.01, 0.02), "at most 0.012 is to be had over policy 3, which decides, where the log"),
            ((0.01, 0.02), (-0.02, 0.01), "at most 0.01 is to be had over what was logged, where the log earned 0.3"),
            ((-0.01, 0.012), (-0.02, 0.01), "at most 0.01 is to be had over what was logged, where the log earned 0.3"),
            ((-0.4, 0.005), (-0.02, 0.01), "at most 0.01 is to be had over what was logged, where the log earned 0.3"),
            ((-0.1, 0.12), (-0.2, 0.1), "too few events to tell, where the log earned 0.3"),
            ((-0.1, -0.02), (-0.2, 0.1), "there is none over policy 3, which decides"),
            ((-0.1, -0.02), (-0.2, 0.0), "there is none over policy 3, which decides and what was logged"),
        ],
    )
    def test_of_each_kind_of_interval(
        self,
        over_deciding: tuple[float, float],
        logged: tuple[float, float],
        said: str,
        opened: Callable[..., Shop],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """As wide as what was earned, 0.3 above the lowest reward, or much narrower."""
        shop = opened(Settings(window=5, exploration=0.2, reward_range=(0.0, 10.0)))
        for number in (2, 3):
            shop.service.set("shop", {}, Policy(number=number))
        told = Judged("RegCB", 900, 0.3, 0.2, 0.4, 0.0, *logged, 0.0, *over_deciding, 0.3, 0.975)
        monkeypatch.setattr(deploying, "judged", lambda *given, **more: [told, told])
        found = promote(shop.service, "shop", Candidate(Wanted("RegCB")))
        assert not found.promoted
        numbers, _, known = found.reason.partition("; ")
        assert "(97.5%, candidate 1, by 900 events)" in numbers
        assert known.startswith(said)
        assert len(found.reason) < 300

    def test_what_is_forced_is_promoted_at_once_and_asks_nothing(
        self, opened: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(10)

        def never(*given: Any, **more: Any) -> Any:
            raise AssertionError("nothing should be judged")

        with monkeypatch.context() as patch:
            patch.setattr(deploying, "judged", never)
            forced = promote(shop.service, "shop", Candidate(Wanted("RegCB"), force=True))
        assert (forced.promoted, forced.reason, forced.judged) == (True, "forced, and not judged", None)
        now = shop.service.policies("shop")[-1]
        assert (now.learner, now.reason) == ("RegCB", "forced, and not judged")
        assert "candidate 1" in promote(shop.service, "shop", Candidate(Wanted("LinUCB"))).reason, "it was none of them"
        with pytest.raises(ValueError, match="no learner is called 'RegCBB'"):
            promote(shop.service, "shop", Candidate(Wanted("RegCBB"), force=True))

    def test_a_refusal_says_that_nothing_was_explored(self, opened: Callable[..., Shop]) -> None:
        for exploration, said in ((0.0, True), (0.2, False)):
            shop = opened(Settings(window=5, exploration=exploration))
            shop.play(20)
            reason = promote(shop.service, "shop", Candidate(Wanted("RegCB"))).reason
            assert ("`exploration` at 0.1 to 0.2" in reason) == said
            shop.close()
