from treecrf.server.metrics import Metrics


def test_each_app_has_its_own_metrics() -> None:
    first, second = Metrics(), Metrics()
    first.record_request("GET", "/models", 200, 0.5)
    first.record_batch(sentences=3, requests=2, seconds=0.25)
    value = first.registry.get_sample_value
    assert value("treecrf_requests_total", {"method": "GET", "path": "/models", "status": "200"}) == 1
    assert value("treecrf_request_seconds_sum", {"path": "/models"}) == 0.5
    assert (value("treecrf_sentences_total"), value("treecrf_batch_requests_sum")) == (3, 2)
    assert second.registry.get_sample_value("treecrf_sentences_total") == 0
    assert value("treecrf_batch_seconds_sum") == 0.25
