"""Parts of a release: its version and changelog, the workflows, and the Docker image."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from treecrf import __version__

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_digest_with_their_version(path: Path) -> None:
    uses = [line.partition("uses: ")[2] for line in path.read_text().splitlines() if "uses:" in line]
    assert uses and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action) for action in uses)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_has_one_permission_of_its_own(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    permissions = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert workflow["permissions"] == {}
    assert permissions.pop("publish", {"id-token": "write"}) == {"id-token": "write"}
    assert all(permission == {"contents": "read"} for permission in permissions.values())


def test_a_release_is_audited_has_a_bill_of_materials_and_attestations() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    commands = " ".join(step.get("run", "") for step in jobs["audit"]["steps"])
    assert "pip-audit" in commands and "cyclonedx-json" in commands and "audit" in jobs["publish"]["needs"]
    assert jobs["publish"]["steps"][-1]["with"]["attestations"] is True


def test_the_image_has_no_model_packages_by_default_and_an_ordinary_user() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert 'ARG MODELS=""' in lines and "USER 10001" in lines
    assert [line.split()[1] for line in lines if line.startswith("FROM")] == ["$BASE", "$BASE"]
    assert any(re.fullmatch(r"ARG BASE=python:3\.\d+-slim@sha256:[0-9a-f]{64}", line) for line in lines)
    assert not any("packages/" in line for line in lines if line.startswith("RUN pip"))


def test_the_changelog_and_the_citation_have_the_version_and_the_changelog_is_in_order() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (\d+\.\d+\.\d+) - (?:unreleased|\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    assert versions[0] == __version__ and len(versions) == changelog.count("\n## ")
    assert versions == sorted(versions, key=lambda version: [*map(int, version.split("."))], reverse=True)
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__


def test_the_sections_of_each_version_are_in_one_order() -> None:
    for version in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        sections = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert sections == [name for name in ("Added", "Changed", "Removed", "Fixed") if name in sections]


def test_a_source_distribution_has_all_of_the_source_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    files = set((tmp_path / "treecrf.egg-info" / "SOURCES.txt").read_text().splitlines())
    tracked = set(
        subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    )
    assert {name for name in tracked if name.startswith("src/")} <= files
    others = {name.partition("/")[0] for name in files if not name.startswith(("src/", str(tmp_path)))}
    assert others <= {
        *("CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "SECURITY.md", "constraints.txt"),
        *("pyproject.toml", "recipes", "setup.py"),
    }
    assert {name for name in files if name.startswith("src/")} <= tracked
