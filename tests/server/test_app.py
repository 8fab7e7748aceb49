from fastapi.testclient import TestClient


def test_only_files_of_the_page_are_served(client: TestClient) -> None:
    assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
    for path in (
        "/nowhere",
        "/../app.py",
        "/%2e%2e/app.py",
        "/%00",
        "/page/index.html",
        "/index.html",
        "//etc/passwd",
        "/a" * 2000,
    ):
        assert client.get(path).status_code == 404, path
    assert client.post("/health").status_code == 405
    assert client.get("/parse").status_code == 405
