"""The board hands out what runs want, in order, and hears what became of it, whoever the workers are."""

from __future__ import annotations

import pytest

from engram.execute.board import Board, drive
from engram.execute.progress import Silence
from engram.execute.walk import Walk
from engram.request import prepare
from engram.tree import grow

SMALL = {"widths": "12-10", "batch": 96}


def walk(learner="finetune", seed=0, tasks=2, protocol="sequential", **settings):
    return Walk(prepare("split-digits", learner, seed=seed, tasks=tasks, protocol=protocol, settings=SMALL | settings))


class Crew:
    """A third kind of workers: so many at a time; `loses` says how often each of them is lost over its first node."""

    def __init__(self, store, size=1, loses=0):
        self.store, self.size, self.loses = store, size, loses
        self.given, self.grown, self.most, self.closed = [], [], 0, False

    def has_room(self):
        return len(self.given) < self.size

    def give(self, node, stream):
        self.given.append((node, stream))
        self.most = max(self.most, len(self.given))
        return f"number {len(self.given)}"

    def hear(self, board):
        if not self.given:
            return
        node, stream = self.given.pop()
        if self.loses:
            self.loses -= 1
            board.lost(node, "struck by lightning")
            return
        grow(node, self.store, stream)
        self.grown.append((node.seed, node.depth))
        board.grown(node)

    def close(self):
        self.closed = True


def test_the_first_run_is_finished_first(store):
    crew, walks = Crew(store), [walk(seed=seed, tasks=3) for seed in (0, 1)]
    drive(walks, store, Silence(), crew)
    assert crew.grown == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert crew.closed
    assert [run.result is not None for run in walks] == [True, True]


def test_a_crew_has_as_much_as_it_has_room_for(store):
    crew = Crew(store, size=3)
    drive([walk("ewc", protocol="stream-level", rate=[0.1, 0.01], strength=[1, 2])], store, Silence(), crew)
    assert crew.most == 3


def test_what_two_runs_want_is_grown_once(store):
    crew = Crew(store, size=4)
    drive([walk("ewc", strength=value) for value in (1, 2, 3)], store, Silence(), crew)
    assert sorted(lessons for _, lessons in crew.grown) == [1, 2, 2, 2]


def test_what_is_in_the_store_is_not_handed_out(store):
    drive([walk(tasks=3)], store, Silence(), Crew(store))
    again = Crew(store)
    drive([walk(tasks=3)], store, Silence(), again)
    assert again.grown == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_node_whose_worker_was_lost_is_tried_again_before_anything_else(times, store):
    crew = Crew(store, loses=times)
    drive([walk(seed=seed) for seed in (0, 1)], store, Silence(), crew)
    assert crew.grown == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_after_three_tries_a_node_is_given_up_and_others_go_on(store):
    crew, walks = Crew(store, loses=3), [walk(seed=seed) for seed in (0, 1)]
    drive(walks, store, Silence(), crew)
    assert str(walks[0].error) == (
        "the worker died 3 times on this task (struck by lightning); 'engram resume' tries again"
    )
    assert crew.grown == [(1, 1), (1, 2)]


def test_a_choice_is_not_made_without_a_candidate_that_may_be_there_tomorrow(store):
    """As one whose worker died, or for which there was too little memory."""
    crew, chosen = Crew(store, loses=3), walk(protocol="stream-level", rate=[0.1, 0.01])
    drive([chosen], store, Silence(), crew)
    assert "the worker died 3 times" in str(chosen.error)
    assert chosen.result is None
    again = walk(protocol="stream-level", rate=[0.1, 0.01])
    drive([again], store, Silence(), Crew(store))
    assert again.result is not None


def test_the_board_knows_who_has_what_and_who_was_lost_over_it(store):
    one = walk()
    board, crew, key = Board([one], store, Silence()), Crew(store, loses=1), one.waiting_for[0].key
    board.hand_out(crew)
    assert board.growing == {key: "number 1"}
    crew.hear(board)
    assert (board.growing, board.lost_by) == ({}, {key: ["number 1"]})


def test_a_node_that_is_grown_elsewhere_is_asked_for_again_after_a_while(store, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("engram.execute.board.time.monotonic", lambda: now[0])
    one, crew = walk(), Crew(store, size=9)
    board, node = Board([one], store, Silence()), one.waiting_for[0]
    for _ in range(2):
        board.hand_out(crew)
        assert [given for given, _ in crew.given] == [node]
        board.elsewhere(node)
        crew.given.clear()
        board.hand_out(crew)
        assert (crew.given, board.growing) == ([], {})
        now[0] += 1
    grow(node, store)
    board.hand_out(crew)
    assert [given.depth for given, _ in crew.given] == [2]


def test_a_crew_is_sent_home_whatever_happens(store):
    class Broken(Crew):
        def hear(self, board):
            raise ZeroDivisionError

    crew = Broken(store)
    with pytest.raises(ZeroDivisionError):
        drive([walk()], store, Silence(), crew)
    assert crew.closed


def test_a_bug_of_a_policy_costs_its_run_only_and_is_shown(store, monkeypatch):
    broken, fine = walk(seed=0), walk(seed=1)

    def tell(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(broken, "tell", tell)
    with pytest.raises(ZeroDivisionError):
        drive([broken, fine], store, Silence(), Crew(store))
    assert str(broken.error) == "ZeroDivisionError: a bug"
    assert fine.result is not None


def test_a_long_path_that_is_known_is_gone_along_without_calls_inside_calls(store, monkeypatch):
    """A run of 2,000 lessons that is in the store already."""
    drive([one := walk(tasks=1)], store, Silence(), Crew(store))
    row = store.row(one.result.path[0])
    monkeypatch.setattr(store, "known", lambda key: row)
    run = prepare("permuted-digits", "ridge", tasks=2000, evaluate="last", settings={"features": 4})
    long = Walk(run)
    Board([long], store, Silence())
    assert len(set(long.result.path)) == 2000
