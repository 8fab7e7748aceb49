import pytest

from treecrf.cli import COMMANDS, main


def run(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_every_command_and_option_is_completed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert not run("completion", "bash")
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS) and "--max-line-bytes" in script
