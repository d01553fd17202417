"""Waiting for what other programs do."""

import time

PATIENCE_SECONDS = 60


def wait_for(question, what):
    """What `question` answers, once that is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {PATIENCE_SECONDS} s")
