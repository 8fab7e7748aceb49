import sys
from pathlib import Path

import httpx
import pytest

from server_process import start_server


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc returns memory to the system on request")
@pytest.mark.parametrize(("chosen", "expected"), [(None, "malloc"), ("pymalloc", "pymalloc")])
def test_a_server_uses_the_system_s_allocator_unless_another_one_is_chosen(
    model: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None, expected: str
) -> None:
    monkeypatch.delenv("PYTHONMALLOC", raising=False)
    if chosen:
        monkeypatch.setenv("PYTHONMALLOC", chosen)
    with start_server(model) as server:
        environment = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
        assert f"PYTHONMALLOC={expected}".encode() in environment
        assert httpx.post(f"{server.url}/parse", json={"text": "We parse."}).status_code == 200
        assert server.stop() == 0
