"""A training ends between two steps when it is asked to stop, so that it can save its state.

with asked_to_stop() as asked:
    ...                             after each step: if asked.stop is not None, save, and raise Interrupted
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupted(KeyboardInterrupt):
    """A stop was requested, and everything is saved."""


class Asked:
    """The signal that requested a stop, if any."""

    stop: int | None = None


@contextlib.contextmanager
def asked_to_stop() -> Iterator[Asked]:
    """Let the current step end after Ctrl-C or a batch system's SIGTERM; a second signal has its usual effect.

    A signal that came after the last step has its usual effect when the block ends.
    """
    asked = Asked()
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before: dict[int, Any] = {number: signal.getsignal(number) for number in signals}

    def stop(number: int, frame: Any) -> None:
        asked.stop = number
        signal.signal(number, before[number])

    for number in signals:
        signal.signal(number, stop)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked.stop:
        signal.raise_signal(asked.stop)
