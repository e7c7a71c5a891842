from __future__ import annotations

import os
import signal

import pytest

from engram.errors import Stopped
from engram.reports.bar import Bar


def test_no_bar_where_there_is_no_terminal(capsys):
    bar = Bar()
    bar.begin(2)
    bar.step("a", 0.5)
    bar.grown("a")
    bar.end()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_to_stop_and_is_heard_at_the_next_check(number):
    bar, before = Bar(), signal.getsignal(number)
    with bar.listening():
        bar.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Stopped):
            bar.check()
    assert signal.getsignal(number) is before
