from pathlib import Path

import pytest

from treecrf.cli import main
from treecrf.trees.treebank import samples


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_samples_are_copied_and_never_replace_other_files(tmp_path: Path) -> None:
    assert not run("samples", str(tmp_path / "new")) and not run("samples", str(tmp_path / "new"))
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == samples.names()
    (tmp_path / "new" / "fifty.mrg").write_text("mine")
    assert "fifty.mrg exists and has other content" in str(run("samples", str(tmp_path / "new")))
