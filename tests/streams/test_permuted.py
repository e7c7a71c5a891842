import torch

from engram.streams import stream

from .toys import everything, rows, toy


def test_permutations_are_bijections_and_the_inverse_restores_every_sample():
    data = toy()
    for task in stream("permuted", dataset=data, tasks=4):
        for split, x in ((task.train, data.x_train), (task.validation, data.x_train), (task.test, data.x_test)):
            order = split.transform.permutation
            assert sorted(order.tolist()) == list(range(6))
            restored = everything(split).flatten(1)[:, order.argsort()].view(-1, 2, 3)
            assert torch.equal(restored, x[rows(split)])


def test_train_validation_and_test_share_the_permutation_and_tasks_do_not():
    tasks = stream("permuted", dataset=toy(shape=(8, 8)), tasks=5).tasks
    for task in tasks:
        assert torch.equal(task.train.transform.permutation, task.test.transform.permutation)
        assert torch.equal(task.train.transform.permutation, task.validation.transform.permutation)
    assert len({tuple(task.train.transform.permutation.tolist()) for task in tasks}) == 5


def test_a_task_is_the_same_whatever_the_number_of_tasks():
    short, long = (stream("permuted", dataset=toy(), tasks=n) for n in (3, 7))
    assert torch.equal(everything(short[2].train), everything(long[2].train))
    assert torch.equal(short[2].train.y, long[2].train.y)


def test_first_task_may_stay_as_it_is():
    made = stream("permuted", dataset=toy(), tasks=3, first_permuted=False)
    usual = stream("permuted", dataset=toy(), tasks=3)
    assert made[0].train.transform.permutation is None
    assert torch.equal(made[2].train.transform.permutation, usual[2].train.transform.permutation)
    assert [task.name for task in made] == ["original", "permutation 2", "permutation 3"]


def test_ten_tasks_of_all_classes_by_default():
    made = stream("permuted", dataset=toy())
    assert len(made) == 10
    assert made.outline.classes == made[9].classes == tuple(range(10))
    assert made.outline.shape == made[0].train.shape == (2, 3)


def test_without_validation_batches_need_no_index():
    task = stream("permuted", dataset=toy(), validation=0)[0]
    assert task.train.rows is None
    assert task.test.rows is None
    assert len(task.train) == 200
    assert len(task.validation) == 0
