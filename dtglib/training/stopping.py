"""A training ends between two steps when a stop is requested, so that it can save its state.

with stop_requests() as requests:
    ...                             after each step: if requests.signal is not None, save, and raise Interrupted
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A stop was requested, and everything is saved."""


class StopRequests:
    """The signal that requested a stop, if any."""

    signal: int | None = None


@contextlib.contextmanager
def stop_requests() -> Iterator[StopRequests]:
    """Let the current step end after Ctrl-C or a batch system's SIGTERM; a second signal has its usual effect.

    A signal that came after the last step has its usual effect when the block ends.
    """
    requests = StopRequests()
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before: dict[int, Any] = {number: signal.getsignal(number) or signal.SIG_DFL for number in signals}

    def stop(number: int, frame: Any) -> None:
        requests.signal = number
        signal.signal(number, before[number])

    for number in signals:
        signal.signal(number, stop)
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if requests.signal:
        signal.raise_signal(requests.signal)
