"""What the OpenAPI document says is what happens: schemathesis asks a loop that is there, with a right key.

It makes requests that are as the document wants them, of which half name what is there, and such as are not.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marginbandits.service import app
from marginbandits.service.app import application
from marginbandits.service.door import RefusedError, json_answer
from marginbandits.service.keys import Keys
from marginbandits.service.records import Settings
from tests.service.leaks import leaked
from tests.service.made import Shop

schemathesis: Any = pytest.importorskip("schemathesis")
POSITIVE, NEGATIVE = schemathesis.GenerationMode
SETTINGS = Settings(window=60, exploration=0.1, holdback=0.1, actions=["hat", "shoe"])
THERE: dict[str, list[Any]] = {
    "event_id": ["open", "closed"],
    "id": ["open", "closed"],
    "learner": ["SquareCB", "Uniform", "EpsilonGreedy"],
    "parameters": [{}],
    "since": [0],
    "number": [1, 2],
    "unit": ["visitor 1"],
    "actions": [None, ["hat", "shoe"]],
    "excluded": [[], ["hat"]],
    "baseline": [None, "shoe"],
}
"""Values by the names that take them."""


@pytest.fixture
def shop(opened: Callable[..., Shop]) -> Shop:
    made = opened(SETTINGS)
    made.decide(event_id="closed", unit="visitor 1")
    made.play(20, unit=True)
    made.decide(event_id="open", deferred=True)
    return made


def nearer(given: Any, chance: random.Random) -> Any:
    """The same, but that half of what has these names is there."""
    if isinstance(given, list):
        return [nearer(one, chance) for one in given]
    if not isinstance(given, dict):
        return given
    there = {name for name in given if name in THERE and chance.random() < 0.5}
    return {name: chance.choice(THERE[name]) if name in there else nearer(one, chance) for name, one in given.items()}


def asked(
    shop: Shop, folder: Path, examples: int, mode: Any, only: str = "", loop: str | None = "shop"
) -> Counter[tuple[str, int]]:
    """How often each operation was answered by each status; all that is not as documented is an error."""
    from hypothesis import HealthCheck, given, settings, strategies
    from hypothesis.errors import Unsatisfiable
    from schemathesis.core.control import SkipTest

    key = Keys(shop.service.journal).make("*", ["admin"])
    counts = Counter[tuple[str, int]]()

    def tells_nothing(context: Any, response: Any, case: Any) -> None:
        assert not leaked(response.content.decode("utf-8", "replace"), key, str(folder))

    beyond = schemathesis.checks.positive_data_acceptance  # a range whose ends are the wrong way round is valid by type
    checks = {"excluded_checks": [beyond], "additional_checks": [tells_nothing]}
    served = application(shop.service)
    schema = schemathesis.openapi.from_asgi("/openapi.json", served)
    for each in schema.get_all_operations():
        operation = each.ok()
        if only not in operation.label:
            continue
        fixed = {"loop": loop} if loop is not None and "{loop}" in operation.path else None

        @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(
            case=operation.as_strategy(generation_mode=mode, path_parameters=fixed, headers=bearer(key)),
            chance=strategies.randoms(use_true_random=False),
        )
        def look(case: Any, chance: random.Random) -> None:
            if mode.is_positive and isinstance(case.body, dict):
                case.body = nearer(case.body, chance)
            if mode.is_positive and case.query:
                case.query = nearer(dict(case.query), chance)
            answer = case.call_and_validate(base_url="http://127.0.0.1", headers=bearer(key), **checks)
            counts[case.operation.label, answer.status_code] += 1
            if shop.loop.settings != SETTINGS:  # of a rate that nobody can keep to nothing would be learnt
                shop.service.set("shop", SETTINGS)

        try:
            look()
        except (SkipTest, Unsatisfiable):  # there is nothing in it that could be wrong
            continue
    return counts


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.soak
@pytest.mark.parametrize("mode", [POSITIVE, NEGATIVE])
def test_nothing_is_undocumented(shop: Shop, tmp_path: Path, mode: Any) -> None:
    """No failure, no other status, body or header, no leak; and most of it goes through the door to what is there."""
    counts = asked(shop, tmp_path, 100, mode)
    by, of = Counter[int](), Counter[str]()
    for (label, status), n in counts.items():
        by[status] += n
        of[label] += n
    print(mode, dict(by), dict(counts))
    n = sum(by.values())
    assert by[401] + by[403] == 0
    assert by[404] <= 0.15 * n
    if mode.is_positive:
        assert all(counts[label, 200] >= 0.3 * n for label, n in of.items()), "each operation does what it is for"
    else:
        assert by[400] >= 0.6 * n
    assert shop.service.failure is None


@pytest.mark.soak
def test_nor_for_loops_of_any_name(shop: Shop, tmp_path: Path) -> None:
    assert asked(shop, tmp_path, 30, POSITIVE, loop=None)


@pytest.mark.soak
@pytest.mark.parametrize("planted", ["500", "undocumented", "leak", "header"])
def test_and_it_would_be_seen(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    """What fails behind the decoder of a loop that is there, a status that is in no document, what tells of itself."""

    def fails(*given: Any) -> Any:
        raise RuntimeError("deep inside")

    def answers(error: RefusedError) -> Any:
        told = "Traceback" if planted == "leak" else "no"
        status = 418 if planted == "undocumented" else 429 if planted == "header" else error.status
        return json_answer({"error": told}, status, {"Retry-After": "soon"} if planted == "header" else None)

    if planted == "500":
        monkeypatch.setattr(shop.service, "rewarded", fails)
        mode, expected = POSITIVE, "Server error"
    else:
        monkeypatch.setattr(app, "problem", answers)
        mode = NEGATIVE
        expected = {"undocumented": "Undocumented status code", "leak": "Traceback", "header": "header"}[planted]
    with pytest.raises(BaseException, match=expected) as caught:
        asked(shop, tmp_path, 20, mode, only="/reward")
    assert not isinstance(caught.value, KeyboardInterrupt)
