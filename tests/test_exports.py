"""What is exported is what is documented, and every module says what it exports."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import marginbandits as mb

ROOT = Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(mb.__path__, "marginbandits.") if not m.name.endswith("__main__")]


def test_exported_names_are_the_documented_names() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    documented = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert sorted(documented) == sorted(mb.__all__)


def test_exported_names_exist_and_nothing_public_is_left_out() -> None:
    assert len(set(mb.__all__)) == len(mb.__all__)
    public = {
        name
        for name, thing in vars(mb).items()
        if not name.startswith("_") and not (inspect.ismodule(thing) and name not in mb.__all__)
    }
    assert public == set(mb.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_declares_what_is_there(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    if Path(str(module.__file__)).read_text().count("\n") > 3:
        assert module.__all__
    for exported in getattr(module, "__all__", []):
        assert hasattr(module, exported), exported


@pytest.mark.parametrize("name", mb.__all__)
def test_every_exported_name_is_explained(name: str) -> None:
    assert inspect.getdoc(getattr(mb, name))
