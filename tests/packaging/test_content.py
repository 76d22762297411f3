"""One module knows where the content is: in a checkout, or in an installed package."""

from __future__ import annotations

import pytest

from flowsweep import content
from flowsweep.errors import FlowsweepError

#: Modules that use their own path, and the package's files that they need.
PACKAGE_FILES = {
    "content.py",
    "testbed/machines/keeper/__init__.py",  # the parts of the script that is copied to machines
    "testbed/slurm/links.py",  # likewise
    "testbed/transient.py",  # which lines of a traceback are flowsweep's
}


def test_nothing_else_looks_for_the_checkout(root):
    package = root / "python/flowsweep"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "__file__" in path.read_text()
    }
    assert found == PACKAGE_FILES


def test_content_of_a_checkout_is_that_of_its_top(root):
    assert content.root() == root
    assert content.snakefile() == root / "Snakefile"
    for name in ("reports", "workflows", "capture/workloads"):
        assert content.folder(name) == root / name


@pytest.mark.parametrize("name", ["reports", "capture/workloads"])
def test_another_folder_must_hold_the_content(name, tmp_path, monkeypatch):
    variable = content.OVERRIDES[name]
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(FlowsweepError, match=name) as caught:
        content.folder(name)
    assert caught.value.found == f"{variable}={tmp_path}"
    assert variable in str(caught.value.remedy)
    for part in content.HOLDS[name]:
        (tmp_path / part).mkdir()
    assert content.folder(name) == tmp_path


def test_an_installed_package_has_its_own_content(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "SHARE", tmp_path)
    assert content.root() == tmp_path
    assert "pip install" in content.build_remedy()
    with pytest.raises(FlowsweepError, match="workflows"):
        content.folder("workflows")
