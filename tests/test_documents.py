"""Every code block of every document runs, and prints what the document says it prints, but for the numbers."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from marginbandits.cli import main
from marginbandits.environments.benchmark_sets import BENCHMARK_SETS
from marginbandits.experiments.plan import Plan
from tests import documented
from tests.documented import ROOT, blocks, commands, difference, inline, run
from tests.marks import at_length

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
SHOWN = {
    line.split()[1]
    for one in DOCUMENTS
    for language, code in blocks(one)
    if language == "sh"
    for line in commands(code)
}
BENCHMARKS = sorted(one.relative_to(ROOT) for one in ROOT.glob("benchmarks/*.py"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one document share their names, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": document.stem}
    for language, code in blocks(document):
        if language == "python":
            exec(compile(code, document.name, "exec"), names)


LONG = {"costs.md", "hinge_lmc.md", "lipschitz_ftl.md", "networks.md", "service.md", "service_page.md", "smooth_ftl.md"}
"""Pages whose commands take several seconds however small."""


@pytest.mark.parametrize(
    "document",
    [*(one for one in DOCUMENTS if one.name not in LONG), *at_length(one for one in DOCUMENTS if one.name in LONG)],
    ids=lambda d: d.name,
)
def test_commands_run_and_print_what_is_shown(document: Path, tmp_path: Path) -> None:
    """One after another in one folder, as a reader would; a `text` block is what the commands before it print."""
    documented.tables(tmp_path / "FOLDER")
    printed: str | None = None
    for language, code in blocks(document):
        if language == "sh":
            printed = "".join(run(line, tmp_path) for line in commands(code))
        elif language == "text":
            assert printed is not None, f"no command before this output:\n{code}"
            assert difference(code, printed) == ([], [])
            printed = None
        elif language == "toml":
            (tmp_path / "tables").mkdir(exist_ok=True)
            documented.tables(tmp_path / "tables")
            (tmp_path / "plan.toml").write_text(code)
            assert len(Plan.from_toml(tmp_path / "plan.toml")) > 1
            assert tomllib.loads(code)
        else:  # a formula or a sketch may stand in a block without a language; a command may not
            assert language in ("", "python"), f"a {language!r} block cannot be tested"
            assert not re.search(r"^(marginbandits|python|make|pip|git) ", code, re.MULTILINE), code


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_commands_within_sentences_exist(document: Path) -> None:
    """Subcommands, options, targets and files are there; placeholders stand for what the reader has."""
    for line in inline(document):
        name, what, *rest = line.split()
        if name == "make":
            documented.made(what)
        elif name == "python":
            assert (ROOT / what).exists(), line
        else:
            options = [word for word in rest if word.startswith("--")]
            known = [option for one in main.commands[what].params for option in one.opts]
            assert set(options) <= set(known), line


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.name)
def test_every_benchmark_runs(script: Path, tmp_path: Path) -> None:
    """Those that no document shows, too; and its first lines say how to call each."""
    assert f"python {script}" in (ROOT / script).read_text().split('"""')[1]
    assert str(script) in SHOWN or run(f"python {script}", tmp_path)


@pytest.mark.soak
def test_the_page_of_claims_shows_what_reproduce_prints(tmp_path: Path) -> None:
    """Claim and statement of each line, from every experiment in its smallest form."""
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs" / "paper.md").read_text(), re.MULTILINE
    )
    shown = [(claim, stated) for claim, stated, *_ in rows if claim not in ("claim", "---")]
    printed = run("marginbandits reproduce --out page", tmp_path)
    lines = "\n".join(f"@ {claim}\nstated: {stated}" for claim, stated in shown).replace("&lt;", "<")
    measured = re.compile(r"^ +(measured|control): .*$", re.MULTILINE)
    assert difference(lines, measured.sub("", printed)) == ([], [])


def test_the_page_of_data_sets_is_the_list_in_the_package() -> None:
    page = (ROOT / "docs" / "data_sets.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| \w+ \| [\d,]+ \|", line)]
    known = [[f"{cell:,}" if i in (1, 2) else str(cell or "–") for i, cell in enumerate(one)] for one in BENCHMARK_SETS]
    assert rows == known
    assert len({one.name for one in BENCHMARK_SETS}) == 75
    for least, most, what in ((150, 70_000, "rows"), (4, 5_748, "columns"), (2, 52, "classes")):
        sizes = [getattr(one, what) for one in BENCHMARK_SETS]
        assert (min(sizes), max(sizes)) == (least, most)
        assert f"{least:,} to {most:,} {what}" in page


def test_a_difference_would_be_seen() -> None:
    table = "learner  mean loss\nLinUCB       0.189\nUniform   1,234.5"
    assert difference(table, "learner mean loss\nUniform -3e-05\nLinUCB 2\nReport: here") == ([], [])
    for other in (table.replace("mean loss", "loss"), table.replace("Uniform", "LinTS"), table + "\nLinTS 1"):
        assert difference(other, table) != ([], [])
        assert difference(table, other) != ([], [])
    with pytest.raises(AssertionError, match="nobody says how"):
        run("marginbandits unheard-of", Path())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_make_is_there() -> None:
    assert shutil.which("make"), "the Makefile's targets cannot be tested without make"


@pytest.mark.parametrize("name", ["comparators_oracle", "comparators_metric"])
def test_tables_of_comparators_have_all_that_is_measured_on_ten_sets_and_more(name: str) -> None:
    page = (ROOT / "docs" / f"{name.removesuffix('_oracle')}.md").read_text()
    header, rows = re.findall(r"^\| ([^\n]*\bUniform \|[^\n]*) \|\n((?:\|[^\n]*\|\n)+)", page, re.MULTILINE)[0]
    measured = re.findall(r'"([^"]+)": lambda', (ROOT / "benchmarks" / f"{name}.py").read_text())
    assert [one.strip() for one in header.split("|")][1:-1] == list(dict.fromkeys(measured))
    sets = {line.split("|")[1].strip() for line in rows.splitlines()} & {one.name for one in BENCHMARK_SETS}
    assert len(sets) >= 10
