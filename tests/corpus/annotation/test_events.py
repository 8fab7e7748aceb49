"""The event log: appended, and recovered after a kill at every byte."""

from itertools import accumulate

import pytest

from treecrf.corpus.annotation.events import Event, EventLog, read_event
from treecrf.files import DamagedFileError

EVENTS = [
    Event(sentence=0, version=0, action="yes", require=[(0, 2, "NP")]),
    Event(sentence=3, version=0, action="tag", tags={"1": "NN"}),
    Event(sentence=0, version=1, action="comment", text="señor (?) \n two lines"),
    Event(sentence=0, version=2, action="tokens", start=0, end=1, words=["can", "not"]),
]


def plain(event):
    return event.line()


def test_events_are_read_as_they_were_written(tmp_path):
    log = EventLog(tmp_path / "a.events.jsonl")
    for event in EVENTS:
        log.append(event)
    log.close()
    again = EventLog(log.path)
    assert list(map(plain, again.events)) == list(map(plain, EVENTS)) and not again.recovered
    again.close()


def test_a_kill_at_every_byte_keeps_all_complete_events_and_the_log_goes_on(tmp_path):
    content = b"".join(map(plain, EVENTS))
    ends = list(accumulate(len(plain(event)) for event in EVENTS))
    path = tmp_path / "a.events.jsonl"
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        log = EventLog(path)
        complete = sum(size >= end - 1 for end in ends)  # the last one may lack its end
        assert list(map(plain, log.events)) == list(map(plain, EVENTS[:complete]))
        is_torn = not {size, size + 1} & {0, *ends}
        assert bool(log.recovered) == is_torn
        log.append(EVENTS[0])
        log.close()
        assert path.read_bytes() == b"".join(map(plain, [*EVENTS[:complete], EVENTS[0]]))


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path):
    path = tmp_path / "a.events.jsonl"
    path.write_bytes(plain(EVENTS[0]) + b"{broken}\n" + plain(EVENTS[1]))
    with pytest.raises(DamagedFileError, match=r"line 2: .*repair or remove"):
        EventLog(path)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"sentence": 0},
        {"sentence": 0, "version": 0, "action": "fly"},
        {"sentence": -1, "version": 0, "action": "yes"},
        {"sentence": 0, "version": 0, "action": "tag", "tags": ["NN"]},
        {"sentence": 0, "version": 0, "action": "skip", "text": 5},
    ],
)
def test_other_json_is_no_event(value):
    with pytest.raises(ValueError, match="expected"):
        read_event(value)
