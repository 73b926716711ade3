"""What a loop decides, joins and learns."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import marginbandits as mb
from marginbandits.service.core import ConflictError, UnknownError
from marginbandits.service.deploying import back_to, promote
from marginbandits.service.doctor import looked_at
from marginbandits.service.draws import chosen, draws
from marginbandits.service.evaluating import Rival, judged
from marginbandits.service.exporting import closed_events, export
from marginbandits.service.journal import Journal
from marginbandits.service.loop import rebuilt
from marginbandits.service.records import Offer, Policy, Settings
from marginbandits.service.replay import verified
from marginbandits.service.requests import Answer, Ask, Candidate, Wanted
from marginbandits.service.warming import drafts
from tests.service.made import Shop, web

Opened = Callable[..., Shop]


class TestWindows:
    def test_a_reward_within_the_window_counts_and_one_after_it_is_late(self, opened: Opened) -> None:
        shop = opened(Settings(window=60))
        early, late, none = (shop.decide(event_id=name).event_id for name in ("early", "late", "none"))
        shop.pass_by(30)
        shop.reward(early, 1.0)
        shop.pass_by(31)
        shop.reward(late, 1.0)
        assert shop.loop.model.learnt == 3
        shop.pass_by(1)
        assert shop.loop.joiner.counts == {"rewarded": 1, "default": 2, "late": 1, "clipped": 0}
        assert none

    @pytest.mark.parametrize(
        ("aggregation", "value"), [("earliest", 0.5), ("sum", 1.0), ("mean", 0.5), ("min", 0.25), ("max", 0.75)]
    )
    def test_several_rewards_are_aggregated(self, opened: Opened, aggregation: str, value: float) -> None:
        shop = opened(Settings(window=60, aggregation=aggregation))  # type: ignore[arg-type]
        event = shop.decide().event_id
        for one in (0.5, 0.25, 0.75):
            shop.reward(event, one)
        shop.pass_by(61)
        (closed,) = _closed(shop.service.journal)
        assert closed.reward == value
        assert closed.clipped == (aggregation == "sum")

    def test_a_reward_before_its_decision_waits_two_minutes(self, opened: Opened) -> None:
        shop = opened(Settings(window=600))
        assert not shop.reward("soon", 1.0).known
        assert not shop.reward("never", 1.0).known
        shop.pass_by(60)
        shop.decide(event_id="soon")
        shop.pass_by(601)
        assert shop.loop.joiner.counts["rewarded"] == 1
        assert shop.loop.joiner.counts["orphans"] == 1

    def test_each_reward_before_its_decision_has_two_minutes_of_its_own(self, opened: Opened) -> None:
        shop = opened(Settings(window=600, aggregation="sum"))
        shop.reward("soon", 0.5)
        shop.pass_by(100)
        shop.reward("soon", 0.25)
        shop.pass_by(30)
        assert shop.loop.joiner.counts["orphans"] == 1, "the first has waited long enough, though nobody wrote"
        shop.decide(event_id="soon")
        shop.pass_by(601)
        assert [one.reward for one in _closed(shop.service.journal)] == [0.25]
        assert shop.loop.joiner.next_close is None
        assert not verified(shop.service.journal).faults

    def test_an_activation_before_its_decision_waits_for_it(self, opened: Opened) -> None:
        shop = opened(Settings(window=60))
        for event in ("soon", "never", "late"):
            assert not shop.run(shop.service.activate("shop", event)).known
        shop.pass_by(100)
        shop = opened()  # what waits is still there
        shop.decide(event_id="soon", deferred=True)
        shop.reward("soon", 1.0)
        shop.pass_by(100)
        shop.decide(event_id="late", deferred=True)
        assert shop.run(shop.service.activate("shop", "late")).status == "recorded", "it is not the first one again"
        assert shop.run(shop.service.activate("shop", "late")).status == "repeated"
        shop.pass_by(100)
        counts = shop.loop.joiner.counts
        assert (counts["rewarded"], counts["default"], counts["inactive"]) == (1, 1, 0)
        assert (counts["activated"], counts["orphan activations"], counts["late activations"]) == (2, 2, 0)

    def test_what_was_deferred_is_learnt_only_if_it_was_activated(self, opened: Opened) -> None:
        shop = opened(Settings(window=60))
        used, unused = (shop.decide(deferred=True).event_id for _ in range(2))
        shop.run(shop.service.activate("shop", used))
        for event in (used, unused):
            shop.reward(event, 1.0)
        shop.pass_by(61)
        assert shop.loop.joiner.counts["rewarded"] == 1
        assert shop.loop.joiner.counts["inactive"] == 1
        assert shop.loop.model.learnt - shop.loop.model.skipped == 1

    def test_strict_loops_know_their_events(self, opened: Opened) -> None:
        shop = opened(Settings(strict=True))
        with pytest.raises(UnknownError, match="no event 'nobody'"):
            shop.reward("nobody", 1.0)


class TestChance:
    def test_probabilities_are_what_settings_say(self, opened: Opened) -> None:
        shop = opened(Settings(exploration=0.2, holdback=0.3))
        answer = shop.decide(actions=["a", "b", "c"], excluded=["b"])
        found = {one.id: one.probability for one in answer.ranking}
        assert found == pytest.approx({"a": 0.7 * 0.5 + 0.3, "b": 0.0, "c": 0.7 * 0.5})
        assert answer.ranking[0].id == answer.action

    def test_draws_follow_them(self) -> None:
        law = [0.1, 0.0, 0.6, 0.3]
        counts = Counter(chosen(law, draws(b"s", str(k), 0)[1]) for k in range(20_000))
        assert counts[1] == 0
        for place in (0, 2, 3):  # five deviations: once in two million
            assert abs(counts[place] / 20_000 - law[place]) < 5 * (law[place] * (1 - law[place]) / 20_000) ** 0.5

    def test_an_id_that_is_used_again_once_it_is_forgotten_is_drawn_anew(self, opened: Opened) -> None:
        """At p = 0.5 thirty draws are all the same once in 500 million."""
        shop = opened(Settings(), Policy(learner="Uniform"))
        found = []
        for _ in range(30):
            first = shop.decide(event_id="e")
            assert shop.decide(event_id="e") == first
            found.append(first.action)
            shop.service.erase_all("shop")
        shop.decide(event_id="e")
        assert set(found) == {"hat", "shoe"}
        assert not verified(shop.service.journal).faults
        shop.loop.model.erasure = 1
        shop.decide(event_id="chosen by hand")
        (fault,) = verified(shop.service.journal).faults
        assert "was decided after erasure 1, which 'shop' did not have" in fault

    def test_apprentices_serve_the_baseline_always(self, opened: Opened) -> None:
        shop = opened(Settings(window=60, mode="Apprentice", holdback=0.5))
        for k in range(40):
            answer = shop.decide(context={"k": k % 3}, actions=["a", "b", "c"], baseline="b")
            assert (answer.action, answer.probability) == ("b", 1.0)
        shop.pass_by(61)
        law, _ = shop.loop.model.law({"k": 1}, [Offer(one) for one in "abc"])
        assert law[1] > 0.5, "it has learnt to do as the baseline does"

    def test_a_repeated_request_gets_the_same_answer_and_another_is_refused(self, opened: Opened) -> None:
        shop = opened(Settings())
        first = shop.decide(event_id="e", context={"a": 1})
        assert shop.decide(event_id="e", context={"a": 1}) == first
        with pytest.raises(ConflictError, match="another request"):
            shop.decide(event_id="e", context={"a": 2})
        assert shop.reward("e", 1.0, key="k").status == "recorded"
        assert shop.reward("e", 1.0, key="k").status == "repeated"
        with pytest.raises(ConflictError, match="something else"):
            shop.reward("e", 0.0, key="k")

    def test_a_key_is_for_one_event(self, opened: Opened) -> None:
        shop = opened(Settings())

        def decided(event: str | None) -> Answer:
            return shop.run(shop.service.decide("shop", Ask(actions=["hat", "shoe"], event_id=event), "k"))

        first = decided("one")
        assert decided("one") == first == decided(None)
        with pytest.raises(ConflictError, match="used for event 'one', and now for 'other'"):
            decided("other")
        shop.decide(event_id="there")
        with pytest.raises(ConflictError, match="used for event 'one', and now for 'there'"):
            decided("there")
        answer = web(shop).post(
            "/loops/shop/decide", json={"actions": ["hat", "shoe"], "event_id": "o"}, headers={"Idempotency-Key": "k"}
        )
        assert answer.status_code == 409

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            ({"actions": ["a", "a"]}, "differ"),
            ({"actions": ["a"], "excluded": ["a"]}, "at least one"),
            ({"actions": ["a"], "excluded": ["z"]}, "excluded must be among the actions, got 'z'"),
            ({"baseline": "z"}, "baseline must be among"),
            ({"actions": None}, "the loop has none of its own"),
            ({"context": {"a": {"b": object}}}, "must be a number, a string"),
        ],
    )
    def test_bad_requests_are_refused_and_not_written(
        self, opened: Opened, ask: dict[str, object], message: str
    ) -> None:
        shop = opened(Settings())
        before = shop.service.journal.last()
        with pytest.raises(ValueError, match=message):
            shop.decide(**ask)
        assert shop.service.journal.last() == before


class TestTheModelIsAFunctionOfTheJournal:
    def test_it_is_made_again_byte_for_byte(self, opened: Opened) -> None:
        shop = opened(Settings(window=5, holdback=0.1))
        shop.play(60)
        policy, last = shop.loop.model.policy, shop.service.journal.last()
        made = rebuilt("shop", policy, shop.service.journal, last.seq if last else 0)
        assert made.dumps() == shop.loop.model.dumps()
        shop = opened()
        assert shop.loop.model.dumps() == made.dumps()
        verdict = verified(shop.service.journal)
        assert (verdict.faults, verdict.laws, verdict.decisions) == ([], 60, 60)
        assert verdict.models["shop"].sha256 == made.dumps()[1]
        assert not looked_at(shop.service.journal).ill

    def test_a_checkpoint_in_the_middle_changes_nothing(self, opened: Opened) -> None:
        shop = opened(Settings(window=50, aggregation="sum"))
        events = [shop.decide(context={"k": k % 3}).event_id for k in range(20)]
        for event in events[:10]:
            shop.reward(event, 0.5)
        shop.pass_by(10)
        shop = opened()  # with all windows open
        for event in events[5:15]:
            shop.reward(event, 0.25)
        shop.pass_by(60)
        assert [one.reward for one in _closed(shop.service.journal)] == [0.5] * 5 + [0.75] * 5 + [0.25] * 5 + [0.0] * 5
        assert shop.loop.joiner.counts["rewarded"] == 15
        assert not verified(shop.service.journal).faults

    @pytest.mark.parametrize(
        "change", [lambda kept: kept[:-3], lambda kept: kept.replace(b"PK", b"KP"), lambda kept: b"x"]
    )
    def test_a_damaged_checkpoint_is_made_again(self, opened: Opened, change: Callable[[bytes], bytes]) -> None:
        shop = opened(Settings(window=5))
        shop.play(10)
        model = shop.loop.model.dumps()
        shop.service._keep()
        kept = shop.service.journal.fact("checkpoint/shop")
        assert kept is not None
        shop.service.journal.put("checkpoint/shop", change(kept))
        assert opened().loop.model.dumps() == model

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ("UPDATE entry SET body = replace(body, 'hat', 'cap') WHERE seq = 5", "entry 5 .* is not what was written"),
            ("UPDATE entry SET at = at - 1 WHERE seq = 9", "entry 9 "),
            ("DELETE FROM entry WHERE seq = 7", "entries 7 to 7 are missing"),
        ],
    )
    def test_tampering_shows(self, opened: Opened, tmp_path: Path, change: str, message: str) -> None:
        shop = opened(Settings(window=5))
        shop.play(10)
        with sqlite3.connect(tmp_path / "journal.sqlite3") as db:
            db.execute(change)
        db.close()
        with pytest.raises(AssertionError, match=message):
            assert not (faults := verified(shop.service.journal).faults), "; ".join(faults)

    def test_an_untrue_law_shows_though_its_chain_is_whole(
        self, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop = opened(Settings(window=5))
        shop.play(10)
        laws = shop.loop.model.laws
        monkeypatch.setattr(shop.loop.model, "laws", lambda asked: ([[0.3, 0.7]], laws(asked)[1]))
        shop.decide(context={"likes": "hat"})
        assert any("does not give" in one for one in verified(shop.service.journal).faults)

    def test_who_is_erased_is_gone_from_the_file_and_the_model(self, opened: Opened, tmp_path: Path) -> None:
        shop = opened(Settings(window=5))
        shop.play(30, unit=True)
        shop.decide(context={"likes": "secretword"}, unit="visitor 3")
        before = shop.loop.model.learnt
        erased = shop.service.erase("shop", "visitor 3")
        assert erased == (7, 13, True)
        assert shop.loop.model.learnt == before - 6
        shop.pass_by(1000)
        assert shop.loop.model.learnt == before - 6, "what was open is gone, too"
        verdict = verified(shop.service.journal)
        assert (verdict.faults, verdict.laws, verdict.erased) == ([], 3, 28), "the first three came before"
        shop.close()
        assert all(b"secretword" not in one.read_bytes() for one in tmp_path.iterdir())
        again = opened()
        assert again.loop.model.learnt == before - 6

    def test_what_is_older_than_it_may_be_kept_is_forgotten(self, opened: Opened, tmp_path: Path) -> None:
        shop = opened(Settings(window=5, retention_days=1))
        shop.decide(context={"likes": "secretword"})
        shop.pass_by(86400 * 0.9)
        shop.play(10)
        shop.pass_by(86400 * 0.2)
        assert shop.loop.model.learnt == 11
        shop.service._retire()
        shop.decide()  # written after it
        shop.service.settle()
        assert shop.loop.model.learnt == 10
        assert not verified(shop.service.journal).faults
        shop.close()
        assert all(b"secretword" not in one.read_bytes() for one in tmp_path.iterdir())
        opened()


class TestPolicies:
    def test_one_that_earns_more_is_promoted_and_one_that_does_not_is_not(self, opened: Opened) -> None:
        shop = opened(Settings(window=5), Policy(learner="Uniform"))
        shop.play(400)
        refused = promote(shop.service, "shop", Candidate(Wanted("Uniform")))
        assert not refused.promoted
        assert refused.reason == "policy 1, which decides, is no other"
        (_, itself) = judged(shop.service.journal, "shop", {"same": Rival(Policy("Uniform"))}, shop.loop.model.policy)
        assert itself.lift == pytest.approx(0.0)
        done = promote(shop.service, "shop", Candidate(Wanted("SquareCB")))
        assert done.promoted
        assert shop.loop.model.policy.number == 2
        assert shop.loop.model.learnt == 400, "it has learnt all there was"
        assert promote(shop.service, "shop", Candidate(Wanted("Uniform"), force=True)).promoted
        assert "forced" in shop.service.policies("shop")[-1].reason
        back_to(shop.service, "shop", 2)
        assert shop.loop.model.policy.learner == "SquareCB"
        assert shop.loop.model.policy.number == 4
        with pytest.raises(UnknownError, match="never had a policy 9"):
            back_to(shop.service, "shop", 9)
        assert not verified(shop.service.journal).faults

    def test_a_policy_that_cannot_be_is_refused_before_anything_is_written(self, opened: Opened) -> None:
        shop = opened(Settings())
        before = shop.service.journal.last()
        for policy, message in (
            (Policy(learner="SquarCB"), "SquareCB"),
            (Policy(parameters={"gamma": 1}), "gamma"),
            (Policy(learner="LinUCB", parameters={"alpha": -1}), "alpha"),
        ):
            with pytest.raises(ValueError, match=message):
                shop.service.set("shop", Settings(), policy)
        assert shop.service.journal.last() == before

    def test_the_baseline_is_judged_by_what_was_held_back_too(self, opened: Opened) -> None:
        shop = opened(Settings(window=5, holdback=0.2), Policy(learner="Uniform"))
        shop.play(300)
        rivals = {"baseline": Rival("baseline"), "uniform": Rival("uniform")}
        _, baseline, uniform = judged(shop.service.journal, "shop", rivals, shop.loop.model.policy)
        assert baseline.low <= 0.5 <= baseline.high  # "hat" is right every second time
        assert uniform.low <= 0.5 <= uniform.high
        assert uniform.lift_low <= 0.0 <= uniform.lift_high


class TestLogs:
    @pytest.mark.parametrize("ending", ["dsjson", "jsonl", "parquet"])
    def test_out_and_in_again_teaches_the_same(self, opened: Opened, tmp_path: Path, ending: str) -> None:
        shop = opened(Settings(window=5))
        shop.play(30)
        law, _ = shop.loop.model.law({"likes": "hat"}, [Offer("hat"), Offer("shoe")])
        file = tmp_path / f"shop.{ending}"
        assert export(shop.service.journal, "shop", file) == (30, 0, "")
        log = mb.read_log(file)
        shop.service.set("other", Settings())
        written = [shop.service.writer.put(one).result() for one in drafts("other", log, (0.0, 1.0))]
        assert all(fresh for _, fresh in written)
        again = [shop.service.writer.put(one).result() for one in drafts("other", log, (0.0, 1.0))]
        assert not any(fresh for _, fresh in again), "the same log counts once"
        shop.service.settle()
        other = shop.service.loop("other").model
        assert other.learnt == 30
        assert other.law({"likes": "hat"}, [Offer("hat"), Offer("shoe")])[0] == pytest.approx(law, abs=1e-6)


def _closed(journal: Journal) -> list[Any]:
    return list(closed_events(journal, "shop"))
