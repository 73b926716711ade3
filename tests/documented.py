"""The commands of the documents in a form that takes seconds, and the shape of what they print.

A `sh` block holds commands; a `text` block shows what the last `sh` block before it prints. Both run here, in this
process: `marginbandits …` through its own command line, `python benchmarks/….py` as the file it is. `SMALL` says how
each becomes small. What has a number in it is compared without it, and lines in any order, as ranks may differ.
"""

import contextlib
import dataclasses
import gzip
import io
import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
from click.testing import CliRunner

from marginbandits.cli import main
from marginbandits.experiments import claims
from marginbandits.experiments.claims.claim import Claim, Parameters, Verdict

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+±~]?(?<![A-Za-z_\d])\d[\d,]*(\.\d+)?(e[-+]?\d+)?")

SMALL: dict[str, list[str]] = {
    "marginbandits bakeoff": ["--rounds", "30", "--jobs", "1"],
    "marginbandits reproduce": ["--jobs", "1"],  # and its claims, see `tiny`
    "marginbandits report": [],
    "marginbandits export": [],
    "marginbandits convert": [],
    "marginbandits evaluate": [],
    "marginbandits learn": [],
    "marginbandits list": [],
    "marginbandits bound": [],
    "python benchmarks/bakeoff_overhead.py": ["--seeds", "2", "--stored", "20"],
    "python benchmarks/batches.py": ["--contexts", "50"],
    "python benchmarks/catalogue.py": ["--rounds", "200", "--changes", "10"],
    "python benchmarks/comparators_oracle.py": ["--every", "1", "--rounds", "10", "--seeds", "1"],
    "python benchmarks/comparators_metric.py": ["--rounds", "20", "--seeds", "1"],
    "python benchmarks/costs.py": ["--seconds", "0.1", "--rounds", "200", "--largest", "10"],
    "python benchmarks/drift.py": ["--rounds", "30", "--phases", "2", "--seeds", "1"],
    "python benchmarks/exponential_weights.py": ["--rounds", "2"],
    "python benchmarks/hinge_lmc.py": ["--rounds", "50", "--turns", "1"],
    "python benchmarks/hinge_lmc_losses.py": ["--beside", str(ROOT / "src"), "--rounds", "20", "--orders", "1"],
    "python benchmarks/hillstrom.py": ["--splits", "2"],
    "python benchmarks/hillstrom_policy.py": [],
    "python benchmarks/import_time.py": ["--turns", "1"],
    "python benchmarks/limits.py": ["--turns", "1", "--milliseconds", "0.1"],
    "python benchmarks/lipschitz_ftl.py": ["--rounds", "100"],
    "python benchmarks/logs.py": ["--rows", "2000", "--columns", "3"],
    "python benchmarks/mixture.py": ["--rounds", "40"],
    "python benchmarks/mixture_parts.py": ["--rounds", "20"],
    "python benchmarks/multiclass.py": ["--rounds", "20", "--seeds", "2"],
    "python benchmarks/networks.py": ["--rounds", "30", "--sets", "long", "--draws", "4", "--columns", "64"],
    "python benchmarks/networks_batched.py": ["--device", "cpu", "--rounds", "4", "--learners", "1,2"],
    "python benchmarks/networks_devices.py": ["--device", "cpu", "--rounds", "10", "--more", "5"],
    "python benchmarks/networks_grid.py": [
        *("--device", "cpu", "--rounds", "20", "--seeds", "1", "--sets", "one,two"),
        *("--rates", "0.003", "--margins", "1"),
    ],
    "python benchmarks/networks_cycles.py": ["--rounds", "30", "--steps", "400"],
    "python benchmarks/networks_text.py": ["--rounds", "40", "--topics", "20", "--seeds", "1"],
    "python benchmarks/off_policy_learning.py": ["--methods", "best constant,MarginPolicy,weighted logistic"],
    "python benchmarks/open_bandit.py": [],
    "python benchmarks/outliers.py": ["--rounds", "40", "--seeds", "2"],
    "python benchmarks/off_policy_agreement.py": ["--rounds", "50"],
    "python benchmarks/off_policy_coverage.py": ["--runs", "2", "--scale", "0.05"],
    "python benchmarks/off_policy_scale.py": ["--rounds", "3000", "--columns", "3"],
    "python benchmarks/peers.py": ["--no-install", "--environments", ".", "--rounds", "20", "--repeats", "1"],
    "python benchmarks/ratios.py": [],
    "python benchmarks/service_load.py": ["--seconds", "0.5", "--connections", "4"],
    "python benchmarks/service_coverage.py": ["--deployments", "2", "--hours", "3", "--rate", "20", "--jobs", "1"],
    "python benchmarks/service_visitors.py": ["--runs", "1"],
    "python benchmarks/service_vowpal_wabbit.py": ["--events", "20"],
    "python benchmarks/service_judging.py": ["--events", "200"],
    "python benchmarks/service_kills.py": ["--kills", "6"],
    "python benchmarks/service_learners.py": ["--seeds", "2", "--rounds", "300", "--rewards", "0.1"],
    "python benchmarks/smooth_ftl.py": ["--rounds", "50", "--rows", "3000"],
    "python benchmarks/smooth_ftl_theorem.py": ["--rounds", "4,5,6,7,8,9", "--seeds", "2"],
    "python benchmarks/sparse_rows.py": ["--rounds", "20"],
    "python benchmarks/tables.py": ["--rounds", "20"],
    "python benchmarks/text_vowpal_wabbit.py": ["--rounds", "20"],
    "python benchmarks/threads.py": ["--rounds", "50"],
    "python benchmarks/vowpal_wabbit.py": ["--rounds", "10", "--seeds", "2"],
}
"""What is added to each command; a later option replaces an earlier one."""

NOT_RUN = {
    "make test": "it is what runs this",
    "make check": "it is the other half of continuous integration, and would run this file's neighbours",
    "make soak": "it takes minutes by design",
    "marginbandits reproduce": "the page that shows all its lines has a test of its own, among the long ones",
}
"""Commands whose existence alone is checked, each with the reason."""

UNSHOWN = re.compile(
    r"^@ lost least|^Report: |^Page: |^figure: |^# seconds$|^# tasks: |^# experiments for |^not installed: |^versions: "
    r"|^without [tKd] = |^control: @$"
)
"""Lines of an output that a document may leave out."""

_VERDICT = "|".join(sorted((one.value for one in Verdict), key=len, reverse=True))
_NONE = "what falls has no exponent of growth|a grid of # that grows by # shows none|too wide to tell from the rival's"
GROWTH = (
    r"(exponent # \(# to #\) where (the bound|its order) has #,? (\w|#/γ) from # to #(,? where it bites)?"
    rf"(,? ({_NONE}))?(,? above it, within the tolerance)?(,? at the rival's rate ({_VERDICT}))?"
    r"(; outside its theorem, which needs [^;]+)?"
    r"|bites at # of # (\w|#/γ); (at \w+ = # )?it bites (from T = #(\^#)? on|nowhere up to T = #))( \([^()]*\))?"
)
"""What a line says of an exponent: where it bites, what was measured, and why that may count for nothing."""

FREE = [
    (r"^.+ lost least", "@ lost least"),
    (r"before .+ with #", "before @ with #"),
    (r"\b(holds|open|fails) \(", "@ ("),
    (rf"^({_VERDICT}) ", "@ "),
    (r"^control: .*", "control: @"),
    (r"^measured: (closest .* where uniform play has|.* under which uniform play is too)\b.*", "measured: @"),
    (r"regret is (not )?a tenth less", "regret is @ a tenth less"),
    (rf"^measured: {GROWTH}(; {GROWTH})*", "measured: @"),
    (r": (vacuous|does not bite) before T = #", ""),
    (r" (noise|BEYOND) ", " @ "),
    (r"not positive", "# #"),
    (r"–", "# (# to #)"),
    (r"(?<=t = #) [Kd] = #", ""),
    (r" (memory|matrix) (?=#)", " @ "),
    (r", APART$", ""),
    (r"stays with \w+ for all: .*|regularisation #, # # better .*", "@"),
    (r"(equals|IS NOT) the arm", "@ the arm"),
    (r"(?<=^import )(.+) not installed$", r"\1 # # # #"),
    (r"^(\w+ .+ (?:round|whole|gradient) .+) not installed$", r"\1 # # # # # # # # # #"),
]
"""Words that the numbers decide: whose they are, and how they come out."""


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text())


def commands(block: str) -> list[str]:
    r"""The commands of a `sh` block, one a line but for lines that end in \\."""
    return [line for line in re.sub(r"\\\n", "", block).splitlines() if line and not line.startswith("#")]


def inline(document: Path) -> list[str]:
    """Commands in the midst of a sentence."""
    text = BLOCK.sub("", document.read_text())
    return re.findall(r"`((?:marginbandits|make|python) [^`]+)`", text)


def shape(output: str) -> list[str]:
    """The lines of an output, sorted, without numbers, spacing, and what the numbers decide."""
    lines = []
    for line in output.splitlines():
        found = re.sub(r"# ?[x%]?(?= |$)", "# ", NUMBER.sub("#", line))
        found = re.sub(r"\s+", " ", re.sub(r"[±+-] *#", "#", found)).strip()
        for pattern, replacement in FREE:
            found = re.sub(pattern, replacement, found)
        if found:
            lines.append(found)
    return sorted(lines)


def difference(shown: str, printed: str) -> tuple[list[str], list[str]]:
    """Lines of what is shown that are not printed, and the other way round but for what may be left out."""
    wanted, found = Counter(shape(shown)), Counter(shape(printed))
    more = [line for line in (found - wanted).elements() if not UNSHOWN.search(line)]
    return list((wanted - found).elements()), more


def run(line: str, folder: Path) -> str:
    """What the command prints in its small form, run in `folder`; raises if it fails or nobody says how it is small."""
    words = shlex.split(line, comments=True)
    name = " ".join(words[:2])
    if " ".join(words) in NOT_RUN:
        if words[0] == "make":
            made(words[1])  # the target is there
        return ""
    if name in ("make demo", "make bench"):
        words = made(words[1])
        name = " ".join(words[:2])
    if name not in SMALL:
        raise AssertionError(f"nobody says how to run {line!r} in seconds: add it to SMALL")
    words = [str(folder / "FOLDER") if word == "FOLDER" else word for word in words] + SMALL[name]
    if name == "marginbandits bakeoff" and not few(words):
        words += ["--seeds", "2"]
    with in_folder(folder), peers():
        return called(words[1:]) if words[0] == "marginbandits" else scripted(words[1:])


def few(words: list[str]) -> bool:
    return "--seeds" in words and int(words[words.index("--seeds") + 1]) <= 2


def made(target: str) -> list[str]:
    """The command that `make target` comes to, if there is one."""
    recipe = subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = [line for line in commands(recipe) if re.search(r"bin/(marginbandits|python benchmarks/)", line)]
    return [Path(found[0].split()[0]).name, *shlex.split(found[0])[1:]] if found else []


def called(words: list[str]) -> str:
    with mock.patch.object(claims, "chosen", small_claims(claims.chosen)):
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def scripted(words: list[str]) -> str:
    output, path = io.StringIO(), [str((ROOT / words[0]).parent), *sys.path]
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys, "path", path),
        mock.patch.dict(os.environ),
        contextlib.redirect_stdout(output),
    ):
        runpy.run_path(str(ROOT / words[0]), run_name="__main__")
    return output.getvalue()


def small_claims(chosen: Callable[[str | None], tuple[Claim, ...]]) -> Callable[[str | None], tuple[Claim, ...]]:
    return lambda names: tuple(tiny(one) for one in chosen(names))


def tiny(claim: Claim) -> Claim:
    """Every experiment of a programme, quick or whole as is asked for: two seeds, few cases and √T rounds."""

    def smaller(one: Parameters) -> Parameters:
        short = {"n": min(one["n"], 300)} if "n" in one else {}
        if "T" in one and claim.name not in ("resampling", "margin-adaptation"):  # there T costs nothing, or is named
            short["T"] = math.isqrt(one["T"])
        return {**one, **short}

    def few(quick: bool) -> list[Parameters]:
        return [smaller(one) for one in claim.units(quick) if one.get("seed", 0) < 2]

    return dataclasses.replace(claim, units=few, controls=())


def tables(folder: Path) -> None:
    """Two small sets, as archives: what stands for the folder of 75; and, beside it, for a trial and for visits."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        y = rng.permutation(np.arange(40) % 3)
        np.savez(folder / f"{name}.npz", X=rng.standard_normal((40, 4)) + y[:, None], y=y)
    X, k = rng.standard_normal((60, 4)), np.arange(60)
    np.savez(folder.parent / "hillstrom.npz", X=X, action=k % 3, reward_visit=k % 2)
    visits = [
        {"id": i, "age": i % 7 * 10 or None, "user": {"email": f"{i}@b.c"}, "label": "no" if i % 7 else "yes"}
        for i in range(40)
    ]
    (folder.parent / "visits.jsonl").write_text("\n".join(json.dumps(one) for one in visits))
    rows = [f"{one['id']},{one['age'] or ''},{one['label']}" for one in visits]
    (folder.parent / "visits.csv").write_text("\n".join(["id,age,label", *rows]))
    mails = []
    for age, coin, luck in zip(rng.integers(18, 80, 2000), rng.random(2000), rng.random(2000), strict=True):
        suits = (coin < 0.6) == (age > 50)
        mails.append(f"{age},{'hats,0.6' if coin < 0.6 else 'none,0.4'},{int(luck < (0.5 if suits else 0.2))}")
    (folder.parent / "visits_log.csv").write_text("\n".join(["age,mail,p,visit", *mails]))
    shop = folder.parent / "open_bandit"
    shop.mkdir(exist_ok=True)
    head = "timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1"
    shown = [f"2019-11-24,{i % 2},{i % 3 + 1},{i % 4 // 3},0.5,{'ab'[i % 5 % 2]},0,0" for i in range(60)]
    for name in ("men", "women", "all"):
        for policy in ("random", "bts"):
            with gzip.open(shop / f"{policy}_{name}.csv.gz", "wt") as campaign:
                campaign.write("\n".join([head, *shown]))
    with gzip.open(folder.parent / "rcv1.vw.gz", "wt") as log:
        log.writelines(f"{i % 2 + 1}:{i % 3 % 2}:0.5 | word{i % 5} word{i % 7}:2\n" for i in range(20))


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class Workspace:
    """Stands in for Vowpal Wabbit's: an even law for actions, told of by number, in JSON or by lines; else a half."""

    def __init__(self, options: str) -> None:
        self.told, self.json = re.search(r"--cb_explore (\d+)", options), "--dsjson" in options

    def predict(self, lines: list[str] | str) -> list[float] | float:
        if self.json and isinstance(lines, str):
            return [1.0] * len(json.loads(lines)["a"])
        if isinstance(lines, str) and self.told is None:
            return 0.5
        n = int(self.told[1]) if self.told else sum(not line.startswith("shared") for line in lines)
        return [1.0 / n] * n

    def learn(self, lines: list[str] | str) -> None:
        pass

    def finish(self) -> None:
        pass


class MAB:
    """Stands in for MABWiser's: always the first arm."""

    def __init__(self, **options: object) -> None:
        pass

    def fit(self, *data: object) -> None:
        pass

    def predict(self, x: object) -> int:
        return 0

    partial_fit = fit


@contextlib.contextmanager
def peers() -> Iterator[None]:
    """The peers of the extra `bench`, which the tests do not need installed: stand-ins for both."""
    policy = SimpleNamespace(LinUCB=lambda **options: None)
    modules = {
        "vowpalwabbit": SimpleNamespace(Workspace=Workspace, __spec__=SimpleNamespace()),
        "mabwiser": SimpleNamespace(),
        "mabwiser.mab": SimpleNamespace(MAB=MAB, LearningPolicy=policy),
    }
    own = {name: sys.modules.pop(name) for name in modules if name in sys.modules}
    sys.modules.update(modules)  # type: ignore[arg-type]
    try:
        yield
    finally:  # these and no others: what was imported meanwhile stays
        for name in modules:
            del sys.modules[name]
        sys.modules.update(own)
