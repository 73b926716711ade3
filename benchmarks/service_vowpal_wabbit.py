"""A service's log trains Vowpal Wabbit, and a log of Vowpal Wabbit's kind warm-starts a loop.

    python benchmarks/service_vowpal_wabbit.py [--events 1000] [--exploration 0.2]

Simulated visitors like one of three things, by two features. A loop decides for them, its events are written as dsjson,
and Vowpal Wabbit learns them (`--dsjson --cb_explore_adf`); what it would play for fresh visitors is then counted.
Then another loop is taught the same file before its first decision.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

from vowpalwabbit import Workspace

import marginbandits as mb
from marginbandits.service.core import Service
from marginbandits.service.exporting import export
from marginbandits.service.records import Offer, Settings
from marginbandits.service.requests import Ask
from marginbandits.service.sqlite import Sqlite
from marginbandits.service.warming import warmed

THINGS = ["hat", "shoe", "bag"]
OFFERS = [Offer(one, {"kind": one}) for one in THINGS]


def visitor(rng: random.Random) -> tuple[dict[str, object], str]:
    """What is known of one, and what they like."""
    age, town = rng.randrange(15, 80), rng.choice(["north", "south"])
    return {"old": "yes" if age > 45 else "no", "town": town}, THINGS[0 if age > 45 else 1 if town == "north" else 2]


async def play(service: Service, events: int, rng: random.Random) -> float:
    """Decide and reward; the mean reward."""
    total = 0.0
    for _ in range(events):
        context, likes = visitor(rng)
        answer = await service.decide("shop", Ask(context=context, actions=[*OFFERS]))
        total += answer.action == likes
        await service.reward("shop", answer.event_id, float(answer.action == likes))
    return total / events


def vowpal_wabbit(file: Path, fresh: list[tuple[dict[str, object], str]]) -> float:
    """How often it is right, having learnt a file."""
    learner = Workspace("--dsjson --cb_explore_adf --epsilon 0 --interactions :: --quiet")
    with file.open() as lines:
        for line in lines:
            learner.learn(line)
    right = 0
    for context, likes in fresh:
        multi = [{"_tag": one.id, **(one.features or {})} for one in OFFERS]
        asked = {"c": {**context, "_multi": multi}, "a": [1, 2, 3], "p": [1 / 3] * 3}
        law = learner.predict(json.dumps(asked))
        right += THINGS[max(range(3), key=law.__getitem__)] == likes
    learner.finish()
    return right / len(fresh)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--exploration", type=float, default=0.2)
    options = parser.parse_args()
    rng = random.Random(0)
    fresh = [visitor(rng) for _ in range(200)]
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Sqlite(Path(folder)))
        service.set("shop", Settings(window=0.2, exploration=options.exploration))
        earned = asyncio.run(play(service, options.events, rng))
        time.sleep(0.5)
        service.settle()
        file = Path(folder) / "shop.dsjson"
        n = export(service.journal, "shop", file).events
        print(f"a loop of {n} events, {options.exploration:.2f} of them drawn evenly, earned {earned:.2f} each")
        print(f"Vowpal Wabbit, trained on its dsjson, is right for {vowpal_wabbit(file, fresh):.2f} of fresh visitors")
        service.set("warm", Settings())
        warmed(service, "warm", mb.read_log(file))
        model = service.loop("warm").model
        laws = [model.law(context, OFFERS)[0] for context, _ in fresh]
        best = [THINGS[max(range(3), key=law.__getitem__)] for law in laws]
        right = sum(one == likes for one, (_, likes) in zip(best, fresh, strict=True))
        print(f"a loop taught the same file before its first decision: {right / len(fresh):.2f}")
        service.close()


if __name__ == "__main__":
    main()
