"""A service that stops after whatever entry goes on as if it had not: what came before its decision is not lost."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbandits.service import store
from marginbandits.service.journal import ACTIVATION, ERASURE, POLICY, REWARD, SETTINGS, TICK, Draft, Journal
from marginbandits.service.loop import Loop
from marginbandits.service.postgres import Postgres
from marginbandits.service.records import Erased, Policy, Rewarded, Settings, encode
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite
from tests.service.made import Shop
from tests.service.postgres import Server

EVENTS = st.sampled_from(["e0", "e1", "e2", "e3"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["decide", "defer", "reward", "activate", "erase", "tick", "other"]),
        EVENTS,
        st.sampled_from([0.0, 1.0, 40.0, 90.0, 200.0]),
    ),
    max_size=25,
)


def drafted(step: str, event: str, loop: Loop, journal: Journal) -> Draft | None:
    if step in ("decide", "defer"):
        ask = Ask(context={"x": 1.0}, actions=["a", "b"], event_id=event, deferred=step == "defer")
        ((draft, _),) = loop.decide([(ask, None)])
        return draft
    if step == "erase":
        entries = journal.speaking("shop", [event])
        return Draft("shop", ERASURE, "", encode(Erased(entries=entries))) if entries else None
    if step == "tick":
        return Draft("", TICK, "", b"{}")
    if step == "activate":
        return Draft("shop", ACTIVATION, event, b"{}")
    return Draft("shop" if step == "reward" else "other", REWARD, event, encode(Rewarded(0.75)))


def followed(journal: Journal, steps: list[tuple[str, str, float]]) -> None:
    """One loop goes on, another is made anew after every entry from what was kept: both come to the same."""
    with pytest.MonkeyPatch.context() as patch:
        at = 1_700_000_000_000_000
        patch.setattr(store, "now", lambda: at)
        whole, secret, kept = Loop("shop", b"secret"), b"secret", None
        policy = Policy(learner="EpsilonGreedy", parameters={"epsilon": 0.5}, number=1)
        drafts = [
            Draft("shop", SETTINGS, "", encode(Settings(window=100.0, aggregation="sum"))),
            Draft("shop", POLICY, "1", encode(policy)),
        ]
        for step, event, seconds in [("", "", 0.0), ("", "", 0.0), *steps]:
            at += round(seconds * 1e6)
            draft = drafted(step, event, whole, journal) if step else drafts.pop(0)
            if draft is None:
                continue
            ((entry, fresh),) = journal.append([draft])
            if fresh:
                whole.observe([entry], journal)
                again = Loop("shop", secret)
                again.restore(journal, kept if not drafts else None)
                kept = again.checkpoint()
                assert kept == whole.checkpoint(), f"after entry {entry.seq}"


@given(STEPS)
@settings(deadline=None, max_examples=60)
def test_a_stop_after_whatever_entry_changes_nothing(steps: list[tuple[str, str, float]]) -> None:
    with TemporaryDirectory() as folder:
        journal = Sqlite(Path(folder), durability="process")
        try:
            followed(journal, steps)
        finally:
            journal.close()


EARLY = [("reward", "e0", 0.0), ("activate", "e1", 1.0), ("decide", "e0", 1.0), ("defer", "e1", 0.0)]


def test_the_same_in_a_database(postgres: Server) -> None:
    journal = Postgres(postgres.database())
    assert journal.lead()
    try:
        followed(journal, [*EARLY, ("decide", "e2", 1.0), ("erase", "e2", 1.0), ("tick", "", 200.0)])
    finally:
        journal.close()


def test_what_came_early_is_learnt_after_a_restart_and_after_the_erasure_of_another(
    opened: Callable[..., Shop],
) -> None:
    for erased in (False, True):
        name = f"{erased}"
        shop = opened(Settings(window=60))
        before = shop.loop.joiner.counts["rewarded"]
        shop.reward(f"early {name}", 1.0)
        shop.run(shop.service.activate("shop", f"used {name}"))
        shop.decide(event_id=f"early {name}")
        shop.decide(event_id=f"used {name}", deferred=True)
        shop.decide(unit="visitor")
        if erased:
            assert shop.service.erase("shop", "visitor").events >= 1
        else:
            shop = opened()
        shop.pass_by(100)
        counts = shop.loop.joiner.counts
        assert counts["rewarded"] == before + 1
        assert counts["inactive"] == 0
