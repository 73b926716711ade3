"""A bake-off on a device: batches give what one at a time gives, are kept one by one, and fail one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import marginbandits as mb
from marginbandits.cli import main
from marginbandits.experiments.batches import play_together
from marginbandits.experiments.device_runner import on_device
from marginbandits.experiments.plan import Plan
from marginbandits.experiments.results import bake_off
from marginbandits.experiments.runner import locally, run_plan
from marginbandits.experiments.store import Store
from marginbandits.state import TooLargeError
from tests.plans import LASTING

PLAYED = "marginbandits.experiments.device_runner.play_together"
SMALL = "HingeLMC(scores=Networks(n_networks=2, width=8, minibatch=16))"
QUICK = "HingeLMC(scores=Networks(n_networks=2, width=8, minibatch=16, rate=0.01), margin=0.5)"
OTHER = "HingeLMC(scores=Networks(n_networks=2, width=9, minibatch=16))"


def plan(*learners: str, device: str | None = "cpu", rounds: int = 80) -> Plan:
    return Plan.of(data=["iris", "wine"], learners=learners, rounds=rounds, seeds=2, device=device)


def runs(store: Store) -> dict[tuple[str, str, int], Any]:
    return {(one.learner, one.data, one.seed): one.outcome for one in bake_off(store).runs}


def test_batches_give_what_one_at_a_time_gives() -> None:
    """Alone on another width, beside others of its own, and beside a learner of another kind."""
    learners = ["LinUCB", SMALL, QUICK, OTHER]
    with Store(":memory:") as many, Store(":memory:") as each:
        assert run_plan(plan(*learners), many, on_device(locally(1))) == 0
        assert run_plan(plan(*learners, device=None), each, locally(1)) == 0
        together, alone = runs(many), runs(each)
    assert len(together) == 16
    for name, outcome in alone.items():
        assert (outcome.losses == together[name].losses).all(), name
        for metric in LASTING:
            assert outcome.metrics[metric] == pytest.approx(together[name].metrics[metric], rel=1e-3), metric
        assert outcome.metrics["state_bytes"] == together[name].metrics["state_bytes"]
        assert (outcome.key == together[name].key) == (name[0] == "LinUCB")  # equal but for rounding is not the same


def test_the_device_is_part_of_what_made_a_result() -> None:
    keys = [{task.key for task in plan(SMALL, device=one).tasks()} for one in (None, "cpu")]
    assert not keys[0] & keys[1]


def test_a_batch_that_is_finished_is_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt in the second batch: what the first came to is kept, and the rest is the same as in one go."""
    played: list[int] = []
    whole = play_together

    def stopping(builds: Any, *rest: Any) -> Any:
        played.append(len(builds))
        if len(played) == 2:
            raise KeyboardInterrupt
        return whole(builds, *rest)

    monkeypatch.setattr(PLAYED, stopping)
    with Store(":memory:") as store, Store(":memory:") as reference:
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan(SMALL, QUICK), store, on_device(locally(1)))
        assert len(store.finished()) == 4
        run_plan(plan(SMALL, QUICK), store, on_device(locally(1)))
        assert played == [4, 4, 4]
        run_plan(plan(SMALL, QUICK), reference, on_device(locally(1)))
        again, once = runs(store), runs(reference)
    assert all((again[name].losses == once[name].losses).all() for name in once)


def test_one_that_is_lost_fails_alone() -> None:
    wild = SMALL.replace("width=8", "width=8, rate=1e6")
    with Store(":memory:") as store:
        assert run_plan(plan(SMALL, wild), store, on_device(locally(1))) == 4
        failures = bake_off(store).failures
        assert len(store.finished()) == 4
    assert all("rate=1e+06 is too large" in reason for _, reason in failures)


def test_a_batch_that_does_not_fit_is_played_as_two(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    whole = play_together

    def small(builds: Any, *rest: Any) -> Any:
        sizes.append(len(builds))
        if len(builds) > 1:
            raise TooLargeError("no room")
        return whole(builds, *rest)

    monkeypatch.setattr(PLAYED, small)
    with Store(":memory:") as store:
        assert run_plan(plan(SMALL), store, on_device(locally(1))) == 0
        assert sizes == [2, 1, 1, 2, 1, 1]
        monkeypatch.setattr(PLAYED, lambda *_: (_ for _ in ()).throw(TooLargeError("no room")))
        assert run_plan(plan(QUICK), store, on_device(locally(1))) == 4
        assert {reason for _, reason in bake_off(store).failures} == {
            "no room; without a device it may play, one round at a time"
        }


def test_what_goes_wrong_in_a_batch_is_told_of_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLAYED, lambda *_: 1 / 0)
    with Store(":memory:") as store:
        assert run_plan(plan(SMALL, "LinUCB"), store, on_device(locally(1))) == 4
        assert all("ZeroDivisionError" in reason for _, reason in bake_off(store).failures)
        assert len(store.finished()) == 4


def test_the_command(tmp_path: Path) -> None:
    """From words and from a file; where it has no effect, or there is no GPU, it is refused."""
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(
        'rounds = 60\nseeds = 1\ndata = ["iris"]\n[[learners]]\nclass = "HingeLMC"\nname = "networks"\n'
        'scores = {class = "Networks", n_networks = 2, width = 8, minibatch = 16}\n'
    )
    words = ["bakeoff", "--data", "iris", "--rounds", "60", "--seeds", "1", "--learners"]
    given = [[*words, f"{SMALL},LinUCB"], ["bakeoff", "--plan", str(plan_file)]]
    for number, one in enumerate(given):
        told = CliRunner().invoke(main, [*one, "--device", "cpu", "--out", str(tmp_path / str(number))])
        assert told.exit_code == 0, told.output
        with Store(tmp_path / str(number) / "results.sqlite") as store:
            assert bake_off(store).settings["device"] == "cpu"
    refused = CliRunner().invoke(main, [*words, "LinUCB", "--device", "cpu", "--out", str(tmp_path / "none")])
    assert refused.exit_code != 0
    assert "device='cpu' has no effect" in refused.output
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HingeLMC(scores=Network(width=3))", "did you mean 'Networks'"),
        ("HingeLMC(scores=Networks(wdth=3))", "Networks has no parameter 'wdth'; did you mean 'width'"),
        ("HingeLMC(scores=Networks(width=-3))", "width must be a whole number at least 1"),
        ("LinUCB(features=Chain())", "Chain needs maps"),
        ("LinUCB(features=os.system(ls))", "features must be"),
        ("LinUCB(features=open(x=1))", "nothing that a learner is made of is called 'open'"),
    ],
)
def test_parts_in_words_are_checked(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(text)


def test_parts_in_words_are_what_they_say() -> None:
    chain = "LinUCB(features=Chain(maps=[Standardise, Fourier(n_components=40)]))"
    one = plan(chain, "HingeLMC(scores=Networks)", device=None)
    assert [learner.label for learner in one.learners] == [chain, "HingeLMC(scores=Networks)"]
    built = one.learners[0].build(3, 0)
    assert isinstance(built, mb.LinUCB)
    law = built.act([1.0, 2.0]).distribution
    assert law is not None
    assert np.isfinite(law).all()
