from fastapi.testclient import TestClient


def test_the_docs_page_needs_no_external_resources(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "POST /parse/batch" in page and "marginals" in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
