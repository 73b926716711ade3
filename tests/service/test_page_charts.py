"""The page's charts: their axes, what is faint, and what is under way."""

import re

from marginbandits.service.charts import LETTER, WIDTH, Line, Point, chart
from marginbandits.service.core import Service
from marginbandits.service.page_charts import each, figures
from marginbandits.service.records import Settings
from marginbandits.service.series import MINUTE
from marginbandits.service.wording import Units
from tests.service.paged import SHOP, played, shown
from tests.service.simulated import SECOND, Simulated


def test_words_of_marks_stay_on_the_chart() -> None:
    line = Line("bandit", "bandit", [Point(at * MINUTE, 0.5, 0.4, 0.6) for at in range(101)])
    marks = [(at * MINUTE, f"policy {at}") for at in (50, 51, 97, 99)]
    words = re.findall(
        r'<text x="([0-9.]+)" y="([0-9]+)" text-anchor="(start|end)">policy', chart([line], "", marks=marks)
    )
    places = [
        (float(x), float(x) + 8 * LETTER) if at == "start" else (float(x) - 9 * LETTER, float(x)) for x, _, at in words
    ]
    assert [at for _, _, at in words] == ["start", "start", "end", "end"]
    assert all(0.0 <= left < right <= WIDTH for left, right in places)
    assert words[0][1] != words[1][1], "not one upon the other"
    assert words[2][1] != words[3][1]


def test_all_charts_have_one_axis_of_time(service: Service) -> None:
    page = shown(service, played(60, SHOP, ("hat", "shoe"))).text
    charts = re.findall(r'<svg viewBox="0 0 360 220".*?</svg>', page)
    times = [re.findall(r'<text x="([0-9.]+)" y="214" text-anchor="middle">([^<]+)<', one) for one in charts]
    assert len(times) == 4
    assert times[0]
    assert all(one == times[0] for one in times)


def test_the_minute_that_runs_is_there_and_gaps_are_gaps() -> None:
    made = Simulated(Settings(window=1.0))
    start = made.at = 1_700_000_040 * SECOND  # a minute begins
    for minute, n in ((0, 3), (1, 2), (7, 4)):
        made.at = start + minute * MINUTE
        for _ in range(n):
            event, _ = made.decide(("hat",))
            made.reward(event, 1.0)
            made.wait(2.0)
    seen = made.loop.watch.look()
    bandit, held, _, decisions = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), made.at)
    assert [((one.at - start) // MINUTE, one.value) for one in decisions.points] == [
        (0, 3),
        (1, 2),
        (2, 0),
        (6, 0),
        (7, 4),
    ]
    assert decisions.running
    assert [(one.at - start) // MINUTE for one in bandit.points] == [0, 1, 7]
    assert not held.points
    drawn = chart([bandit], "x")
    assert drawn.count("<polyline") == 2, "nothing is drawn where nothing was"
    assert drawn.count("<title>under way</title>") == 1
    later = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), start + 10 * MINUTE)[-1]
    assert [((one.at - start) // MINUTE, one.value) for one in later.points][-3:] == [(7, 4), (8, 0), (10, 0)]
    page = figures(seen, Units((0.0, 1.0)), made.at)
    assert "Decisions in each minute" in page
    assert "a hollow dot is the one that is under way" in page


def test_a_minute_of_few_events_does_not_stretch_the_axis(service: Service) -> None:
    """Two events of mean 0.5, then minutes of a hundred of mean 0.05: the axis is of these, the others are marked."""
    made = Simulated(Settings(window=1.0))
    made.at = 1_700_000_040 * SECOND  # a minute begins
    for minute in range(8):
        for k in range(100 if minute else 2):
            event, _ = made.decide(("hat",))
            made.reward(event, float(k % 20 == 0))
            made.wait(0.6)
        made.at += (0 if minute else 60 - 2) * SECOND
    seen = made.loop.watch.look()
    bandit = each(seen.series[0].until(seen.stand), seen.series[0], Units((0.0, 1.0)), made.at)[0]
    assert [one.sure for one in bandit.points][:3] == [False, True, True]
    assert bandit.points[0].value == 0.5
    drawn = re.findall(r"<figure><h3>Reward in each minute</h3>.*?</figure>", shown(service, made).text)[0]
    axis = [float(one) for one in re.findall(r'text-anchor="end">([0-9.]+)<', drawn)]
    assert max(axis) < 0.1
    assert "beyond the axis: 0.500, of 2 events" in drawn
    assert drawn.count('class="line bandit faint"') == 1
    assert "What is faint rests on few events" in shown(service, made).text


def test_where_all_are_few_they_are_shown(service: Service) -> None:
    page = shown(service, played(30, Settings(window=60.0), ("hat", "shoe"))).text
    drawn = re.findall(r"<figure><h3>Reward in each minute</h3>.*?</figure>", page)[0]
    assert "faint" not in drawn
    assert "beyond" not in drawn


def test_an_axis_shows_nothing_but_what_a_reward_can_be() -> None:
    """One mean alone says nothing of how tall its chart is to be."""
    for value, can_be, ends in (
        (0.2, (0.0, 1.0), (0.0, 0.6)),
        (1.0, (0.0, 1.0), (0.5, 1.0)),
        (9.9, (0.0, 10.0), (9.4, 10.0)),
    ):
        drawn = chart([Line("bandit", "bandit", [Point(MINUTE, value, value, value)])], "", within=can_be)
        axis = [float(one) for one in re.findall(r'text-anchor="end">([−0-9.]+)<', drawn.replace("−", "-"))]
        assert (min(axis), max(axis)) == ends
