"""An endpoint that notes how many requests it has at a time, and hangs up on some of them."""

import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self

from tests.support.receiver import Answer, ReceivedRequest, Receiver


@dataclass
class CountingEndpoint:
    """Answers slowly, always alike; one first attempt in `drop_one_in` gets no answer at all.

    Only first ones: a step that is never answered fails, and rightly so.
    """

    receiver: Receiver
    numbers: random.Random
    drop_one_in: int
    most_at_a_time: int = 0
    is_troubled: bool = False
    _now: int = 0
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def at(cls, receiver: Receiver, *, seed: int, drop_one_in: int) -> Self:
        """Let a receiver answer like this."""
        endpoint = cls(receiver, random.Random(seed), drop_one_in)
        receiver.answer_by(endpoint.respond)
        return endpoint

    def respond(self, request: ReceivedRequest) -> Answer:
        """Answer one request; in a thread of its own."""
        body = json.loads(request.body)
        with self._lock:
            self._now += 1
            self.most_at_a_time = max(self.most_at_a_time, self._now)
            is_dropped = self.is_troubled and self.numbers.randrange(self.drop_one_in) == 0
            is_dropped = is_dropped and body["attempt"] == 1
        try:
            time.sleep(0.1)
        finally:
            with self._lock:
                self._now -= 1
        found = {"metadata": {"filename": body["file"]["filename"]}}
        return Answer(body=json.dumps(found).encode(), drop=is_dropped)

    def keys_by_attempt(self) -> dict[tuple[Any, ...], set[str]]:
        """Return by which keys each attempt was known, in bodies and headers alike."""
        found: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for request in self.receiver.requests:
            body = json.loads(request.body)
            attempt = (body["pipeline_run_id"], body["step_key"], body["attempt"])
            found[attempt] |= {body["idempotency_key"], request.headers["webhook-id"]}
        return found
