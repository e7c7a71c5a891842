"""A learner of one's own: by its place, in workers, on another day; and never yesterday's result after an edit."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap

import pytest

import engram
from engram.errors import BadSetting
from engram.learners import LEARNERS
from engram.learners.finetune import Finetune
from engram.own import NotFound, origin
from engram.runs import record_of
from engram.store import Store

SMALL = {"widths": "12", "batch": 96, "tasks": 2}
CLIPPED = """
    from engram.parts.gradient import GradientLearner
    from engram.settings import setting
    from limits import LIMIT

    class Clipped(GradientLearner):
        name = "clipped"
        norm = setting(1.0, "largest norm of a gradient", above=0)

        def edit(self):
            grad = self.network.grad
            grad.mul_((LIMIT * self.norm / grad.norm()).clamp(max=1))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "clipped", CLIPPED)
    write(tmp_path, "limits", "LIMIT = 0.1")
    yield tmp_path
    sys.modules.pop("limits", None)


def write(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


def run(learner="clipped.py:Clipped", **more):
    return engram.run("split-digits", learner, **{"store": "store", **SMALL, **more})


def test_it_is_found_by_its_place_and_goes_by_its_name(folder):
    record = run()
    assert record.learner == "clipped"
    assert record.parameters_sha256 != run("finetune").parameters_sha256
    assert record == run()


def test_workers_know_it_and_give_the_same_bits(folder):
    alone = [record.parameters_sha256 for record in run(seeds=[0, 1])]
    record = engram.run("split-digits", "clipped.py:Clipped", store="pooled", seeds=[0, 1], jobs=2, **SMALL)
    assert [r.parameters_sha256 for r in record] == alone


def test_one_of_a_module_is_known_to_workers_too(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    from clipped import Clipped

    engram.register(Clipped)
    assert origin(Clipped).place == "clipped:Clipped"
    assert [r.status for r in run("clipped", seeds=[0, 1], jobs=2)] == ["done", "done"]
    sys.modules.pop("clipped")


EDITS = [("clipped", CLIPPED.replace("LIMIT * self", "0.5 * self")), ("limits", "LIMIT = 0.05")]


@pytest.mark.parametrize("edited, text", EDITS)
def test_an_edited_method_is_trained_again_and_the_reason_is_said(folder, edited, text):
    before = run()
    write(folder, edited, text)
    with pytest.warns(UserWarning, match=r"^clipped.py has changed since these runs; training again$"):
        after = run()
    assert after.parameters_sha256 != before.parameters_sha256
    assert after.key != before.key
    write(folder, "clipped", CLIPPED)
    write(folder, "limits", "LIMIT = 0.1")
    with pytest.warns(UserWarning, match="has changed"):
        assert run() == before


SHRINKING = """
    from engram.learners.finetune import Finetune

    class Shrinking(Finetune):
        name = "shrinking"

        def learn(self, lesson):
            for step in super().learn(lesson):
                self.network.theta.mul_(0.9)
                yield step
"""


def test_it_takes_and_leaves_nothing_that_was_trained_by_others(folder):
    """Nothing that Engram looks at says that its steps are not plain ones."""
    write(folder, "shrinking", SHRINKING)
    orders = (("shrinking.py:Shrinking", "finetune"), ("finetune", "shrinking.py:Shrinking"))
    found = [{name: run(name, store=str(number)).rows for name in order} for number, order in enumerate(orders)]
    bits = [{name: [row.parameters_sha256 for row in rows] for name, rows in each.items()} for each in found]
    assert bits[0] == bits[1]


def test_an_edit_beside_it_changes_nothing(folder):
    before = run()
    write(folder, "unrelated", "something = 1")
    assert run() == before


def test_the_file_may_move(folder, tmp_path):
    before = run()
    (tmp_path / "elsewhere").mkdir()
    for name in ("clipped.py", "limits.py"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    store = Store("store")
    moved = run("elsewhere/clipped.py:Clipped")
    assert moved.parameters_sha256 == before.parameters_sha256
    assert store.times_grown(store.runs()[-1]["result"]["path"][-1]) == 1
    store.close()


def test_what_is_written_at_a_prompt_is_never_taken_for_the_same():
    def written(body):
        names = {"Finetune": Finetune, "__name__": "__main__"}
        exec(
            compile(
                f"class Mine(Finetune):\n    name = 'mine'\n    def end(self, lesson): {body}\n", "<stdin>", "exec"
            ),
            names,
        )
        return names["Mine"]

    one, other = written("pass"), written("pass")
    assert origin(one).place is None
    assert origin(one) == origin(one)
    assert origin(one).digest != origin(other).digest


def test_what_a_function_makes_is_never_taken_for_the_same():
    def make(value):
        class Mine(Finetune):
            name = "mine"
            factor = value

        return Mine

    assert origin(make(1)).digest != origin(make(2)).digest


def test_the_librarys_own_needs_no_origin():
    assert origin(Finetune) is None
    assert LEARNERS.name_of(Finetune) == LEARNERS.name_of("engram.learners.finetune:Finetune") == "finetune"
    assert LEARNERS.users == {}


def test_a_name_of_the_library_is_taken():
    class Mine(Finetune):
        name = "ewc"

    with pytest.raises(BadSetting, match="there is a learner 'ewc' in the library; give Mine another name"):
        engram.register(Mine)


def test_a_learner_needs_a_name():
    class Mine(Finetune):
        name = ""

    with pytest.raises(BadSetting, match="the learner Mine has no name; give it one"):
        engram.run("split-digits", Mine)


def test_a_class_itself_is_enough():
    class Mine(Finetune):
        name = "mine"

    assert engram.run("split-digits", Mine, **SMALL).learner == "mine"


def test_a_worker_refuses_another_version_than_it_was_asked_for(folder):
    run()
    store = Store("store")
    spec = store.runs()[0]["spec"]
    write(folder, "limits", "LIMIT = 0.7")
    place, digest = spec["own"]["learner"]
    LEARNERS.users.clear()
    with pytest.raises(BadSetting, match="clipped.py has changed since this was asked for; ask for it again"):
        LEARNERS.find_again(place, digest)
    assert record_of(store.runs()[0], store).status == "done"
    store.close()


def test_another_version_is_refused_without_taking_a_name_that_is_in_use(folder):
    """Its class may be called something else since."""
    write(folder, "other", CLIPPED.replace('"clipped"', '"other"'))
    asked = LEARNERS.origin(LEARNERS.name_of("other.py:Clipped"))
    write(folder, "other", CLIPPED)
    used = LEARNERS[LEARNERS.name_of("clipped.py:Clipped")]
    with pytest.raises(BadSetting, match="other.py has changed"):
        LEARNERS.find_again(*asked)
    assert LEARNERS["clipped"] is used


NEIGHBOURS = """
    from limits import LIMIT
    from engram.learners.finetune import Finetune

    class Mine(Finetune):
        name = "mine"
        limit = LIMIT
"""


def test_modules_of_one_name_in_two_folders_are_two(tmp_path):
    for folder, limit in (("one", 1), ("other", 2)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "mine", NEIGHBOURS)
        write(tmp_path / folder, "limits", f"LIMIT = {limit}")
    limits = [LEARNERS.of(f"{tmp_path / folder}/mine.py:Mine").limit for folder in ("one", "other")]
    sys.modules.pop("limits", None)
    assert limits == [1, 2]


def test_two_of_one_name_in_one_file_are_not_the_same(folder):
    write(folder, "clipped", CLIPPED + CLIPPED.replace("class Clipped", "class Other").replace("LIMIT *", "0.5 *"))
    record, other = run(), run("clipped.py:Other")
    assert record.learner == other.learner == "clipped"
    assert record.parameters_sha256 != other.parameters_sha256


def test_decorated_methods_are_written_where_they_stand(folder):
    text = textwrap.dedent(CLIPPED).replace("    def edit", "    @torch.no_grad()\n    def edit")
    write(folder, "clipped", "import torch\n" + text)
    records = engram.run("split-digits", "clipped.py:Clipped", store="store", seeds=[0, 1], jobs=2, **SMALL)
    assert [record.status for record in records] == ["done", "done"]


def test_a_script_that_ends_itself_is_a_sentence(folder):
    write(folder, "script", "import sys\nsys.exit(7)")
    with pytest.raises(NotFound, match=r"'script.py' cannot be imported \(SystemExit: 7\); correct it"):
        run("script.py:Mine")


def test_modules_that_took_a_value_from_an_edited_one_are_imported_again(folder):
    write(folder, "mine", NEIGHBOURS)
    write(folder, "limits", "from deeper import LIMIT")
    found = []
    for limit in (1, 22):
        write(folder, "deeper", f"LIMIT = {limit}")
        found.append(LEARNERS.of("mine.py:Mine").limit)
    sys.modules.pop("deeper")
    assert found == [1, 22]


FACTORY = """
    from engram.learners.finetune import Finetune

    def scaled(factor):
        def end(self, lesson):
            self.network.theta.mul_(factor)
        return type("Scaled", (Finetune,), {"name": "scaled", "end": end})
"""


@pytest.mark.parametrize("makes", [FACTORY, ""], ids=["here", "in another file"])
def test_what_a_function_makes_is_found_by_the_name_that_it_was_given(folder, makes):
    write(folder, "factory", FACTORY)
    begins = textwrap.dedent(makes) or "from factory import scaled\n"
    write(folder, "made", begins + "\nplain, tenth = scaled(1.0), scaled(0.1)\n")
    found = [LEARNERS.origin(LEARNERS.name_of(f"made.py:{name}")) for name in ("plain", "tenth")]
    sys.modules.pop("factory", None)
    assert len({one.digest for one in found}) == 2
    for one in found:
        assert LEARNERS.find_again(*one) == "scaled"


def test_a_running_script_has_the_digest_of_its_text_but_for_what_functions_made_in_it(folder):
    script = """
        import torch
        from engram.learners.finetune import Finetune
        from engram.own import origin

        class Mine(Finetune):
            name = "mine"
            @torch.no_grad()
            def end(self, lesson):
                super().end(lesson)

        def made(factor):
            class Made(Finetune):
                def end(self, lesson):
                    self.network.theta.mul_(factor)
            return Made

        class Bounded(Finetune):
            rate = Finetune.rate
            end = Mine.end

        Made = made(0.5)
        Bare = type("Bare", (Finetune,), {"factor": 0.5})
        print(*(origin(thing).digest for thing in (Mine, Bounded, Made, Bare)), origin(Mine).place)
    """
    write(folder, "script", script)
    said = [subprocess.check_output([sys.executable, "script.py"], text=True).split() for _ in range(2)]
    assert [one == two for one, two in zip(*said)] == [True, True, False, False, True]
    assert said[0][-1] == "None"
    write(folder, "script", script.replace("super()", "Finetune").replace("(lesson)\n\n", "(self, lesson)\n\n"))
    assert subprocess.check_output([sys.executable, "script.py"], text=True).split()[0] != said[0][0]


LATE = """
    from engram.learners.finetune import Finetune

    class Late(Finetune):
        name = "late"
        factor = 0.5

        def end(self, lesson):
            self.network.theta.mul_(self.factor * 1)
"""


@pytest.mark.parametrize("old, new", [("factor * 1", "factor * 22"), ("factor * 1", "factor * 2"), ("", "")])
def test_what_was_edited_after_it_was_imported_is_refused(folder, monkeypatch, old, new):
    """Its results would be kept under the digest of a text that did not make them."""
    monkeypatch.syspath_prepend(str(folder))
    write(folder, "late", LATE)
    late = importlib.import_module("late").Late
    write(folder, "late", LATE.replace(old, new) + "\n    # said beside it\n")
    try:
        if old:
            with pytest.raises(BadSetting, match=r"^late.py has changed since it was imported; start Python again$"):
                origin(late)
        else:
            assert origin(late).place == "late:Late"
    finally:
        del sys.modules["late"]
