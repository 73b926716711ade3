"""What is exported is what is documented, and every module says what it exports."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import assert_type

import pytest

import marginbandits as mb
from marginbandits import learners
from marginbandits.exports import HOMES, PARTS, exported
from marginbandits.learners import baselines

ROOT = Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(mb.__path__, "marginbandits.") if not m.name.endswith("__main__")]


def test_exported_names_are_the_documented_names() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    documented = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert sorted(documented) == sorted(mb.__all__)


def test_exported_names_exist_and_nothing_public_is_left_out() -> None:
    assert len(set(mb.__all__)) == len(mb.__all__)
    assert set(dir(mb)) >= set(mb.__all__)
    for name in mb.__all__:
        getattr(mb, name)
    public = {
        name
        for name, thing in vars(mb).items()
        if not name.startswith("_") and not (inspect.ismodule(thing) and name not in mb.__all__)
    }
    assert public == set(mb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'LinUBC'"):
        _ = mb.LinUBC  # type: ignore[attr-defined]  # as a type checker says too


@pytest.mark.parametrize("package", [mb, learners, baselines], ids=lambda package: str(package.__name__))
def test_what_type_checkers_read_is_what_is_exported(package: ModuleType) -> None:
    """The imports of an `if TYPE_CHECKING` block against `__all__`, and where each name is found at run time."""
    (block,) = [
        one
        for one in ast.parse(inspect.getsource(package)).body
        if isinstance(one, ast.If) and not one.orelse and isinstance(one.test, ast.Name)
    ]
    imports = [one for one in block.body if isinstance(one, ast.ImportFrom)]
    found = {alias.name: str(one.module) for one in imports for alias in one.names}
    assert found.keys() == set(package.__all__)
    for name, module in found.items():
        thing = getattr(importlib.import_module(module), name)
        assert getattr(package, name) is thing
        assert inspect.ismodule(thing) or exported(name) is thing


def test_types_are_known_though_nothing_is_imported() -> None:
    agent = assert_type(
        mb.LinUCB(3), mb.LinUCB
    )  # were the names typed as Any or object, `make check` would refuse this
    assert_type(agent.act([1.0]), mb.Decision)


def test_files_can_name_every_class_that_is_saved_and_nothing_else() -> None:
    assert HOMES.keys() == {name for name in mb.__all__ if not inspect.ismodule(getattr(mb, name))}
    assert not HOMES.keys() & PARTS.keys()
    assert all(inspect.isclass(exported(name)) for name in PARTS)
    assert exported("checks") is exported("os.system") is exported("LinUBC") is None


def test_importing_loads_nothing_that_is_not_called() -> None:
    """In a fresh process: nothing compiled at import, and a learner without statistics, solvers or tables."""
    script = """
import sys
import marginbandits as mb
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"numpy", "scipy", "numba", "sklearn"}))
mb.LinUCB(3)
heavy = "scipy.stats", "scipy.optimize", "scipy.spatial", "scipy.special", "scipy.integrate", "sklearn", "click", "tqdm"
print(*(name for name in heavy if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_declares_what_is_there(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    if Path(str(module.__file__)).read_text().count("\n") > 3:
        assert "__all__" in vars(module)
    for one in getattr(module, "__all__", []):
        assert hasattr(module, one), one


@pytest.mark.parametrize("name", mb.__all__)
def test_every_exported_name_is_explained(name: str) -> None:
    assert inspect.getdoc(getattr(mb, name))
