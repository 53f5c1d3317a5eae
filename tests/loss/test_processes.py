"""Three processes: as if one had all rows."""

from functools import partial

import pytest
import torch

from batches import LOSSES, PROJECTIONS, STATISTICS
from fairret.errors import DtypeError
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss, SmoothMaxLoss
from gang import Gang
from gang_tasks import (
    SHARES,
    batch_of,
    choose_a_group_of_others,
    compiled_and_eager,
    errors_of,
    evaluate,
    give_other_columns,
    lose_the_group,
    losses_of,
    losses_of_groups,
    many_groups,
    messages_of,
    messages_of_loss,
    messages_of_two_traits,
    own_rows,
    projections_of,
    remembered,
    weigh,
    weights_after_training,
)

pytestmark = pytest.mark.process

CASES = ("plain", "sorted by group", "saturated", "without positives")


@pytest.fixture(scope="module")
def gang(tmp_path_factory):
    gang = Gang(3, tmp_path_factory.mktemp("gang"))
    yield gang
    gang.close()


def assert_same(gang, cases, numbers=None):
    answers = gang.ask(losses_of, cases, numbers)
    for case, *parts in zip(cases, *answers, strict=True):
        make, kind, _, weighted = case
        batch = batch_of(kind)
        options = {"weight": weigh(batch)} if weighted else {}
        value, grad = evaluate(make(), batch, **options)
        message = str(case)
        for other, _ in parts:
            torch.testing.assert_close(
                other, value, rtol=1e-6, atol=1e-9, msg=lambda m, c=message: c + m
            )
        joined = torch.cat([part for _, part in parts])
        torch.testing.assert_close(
            joined, grad, rtol=1e-5, atol=1e-8, msg=lambda m, c=message: c + m
        )


@pytest.mark.parametrize("numbers", [None, 0], ids=["gathered", "sums"])
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_loss_and_gradient_equal_those_of_one_process(gang, loss_cls, shares, numbers):
    first = [*SHARES].index(shares)  # over all shares, each name meets every case
    cases = [
        (partial(loss_cls, name), CASES[(first + i) % 4], shares)
        for i, name in enumerate(("pr", "ppv", "fn_fp", "tpr+fpr"))
    ]
    assert_same(gang, [(*case, case[1] == "plain") for case in cases], numbers)


@pytest.mark.parametrize("numbers", [None, 0], ids=["gathered", "sums"])
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_tolerance_is_that_of_the_whole_batch(gang, loss_cls, numbers):
    first = PROJECTIONS.index(loss_cls)
    cases = [
        (
            partial(loss_cls, name, gradient="exact", max_violation=limit),
            CASES[(first + i) % 4],
            [*SHARES][(first + i) % 4],
            i % 2 == 0,
        )
        for i, (name, limit) in enumerate(
            (("pr", 0.01), ("ppv", 0.1), ("fn_fp", 0.3), ("tpr+fpr", 2.0))
        )
    ]
    assert_same(gang, cases, numbers)


@pytest.mark.parametrize("loss_cls", [SmoothMaxLoss, KLProjectionLoss])
def test_every_statistic_equals_that_of_one_process(gang, loss_cls):
    makes = [partial(loss_cls, name) for name in STATISTICS]
    assert_same(gang, [(make, "plain", "uneven", False) for make in makes])


def test_exact_gradient_equals_that_of_one_process(gang):
    makes = [
        partial(ProjectionLoss, name, divergence, gradient="exact", sharpness=2.0)
        for name in ("ppv", "fn_fp")
        for divergence in ("kl", "sed")
    ]
    cases = [(make, "plain", shares, True) for make in makes for shares in SHARES]
    for numbers in (None, 0):
        assert_same(gang, cases, numbers)


def test_projection_itself_equals_that_of_one_process(gang):
    for name, divergence, status in (
        ("ppv", "kl", "CONVERGED"),
        ("ppv", "tv", "CONVERGED"),
        ("tpr+ppv", "kl", "INFEASIBLE"),
    ):
        make = partial(ProjectionLoss, name, divergence)
        parts = gang.ask(projections_of, make, "plain", "one without rows")
        one = make().project(*batch_of("plain"))
        assert {part.status.name for part in parts} == {one.status.name} == {status}
        f_star = torch.cat([part.f_star for part in parts])
        atol = 1e-6 if status == "CONVERGED" else 0.1  # the least gap is a flat place
        torch.testing.assert_close(f_star, one.f_star, rtol=0, atol=atol)
        for part in parts:
            assert abs(part.divergence - one.divergence) <= 1e-3 * one.divergence


@pytest.mark.parametrize("wrap", ["ddp", "fsdp"])
def test_wrapped_model_learns_what_one_process_would(gang, wrap):
    makes = [None, partial(NormLoss, "ppv"), partial(KLProjectionLoss, "ppv")]
    for make in makes:
        parts = gang.ask(weights_after_training, make, wrap, "even")
        one = weights_after_training(1, 1, make, "plain", "one has all")
        for part in parts:
            torch.testing.assert_close(part, one, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("numbers", [None, 0], ids=["gathered", "sums"])
@pytest.mark.parametrize("memory", [100, 30])
@pytest.mark.parametrize(
    "loss_cls",
    [SmoothMaxLoss, KLProjectionLoss, partial(KLProjectionLoss, max_violation=0.1)],
    ids=["violation", "projection", "tolerance"],
)
def test_memory_is_shared_by_the_processes(gang, loss_cls, memory, numbers):
    make = partial(loss_cls, "ppv", memory=memory)
    loss = make()
    answers = gang.ask(remembered, make, numbers)
    for seed, parts in enumerate(zip(*answers, strict=True)):
        value, grad = evaluate(loss, batch_of("plain", seed))
        for own, _ in parts:
            torch.testing.assert_close(own, value, rtol=1e-9, atol=1e-12)
        joined = torch.cat([part for _, part in parts])
        torch.testing.assert_close(joined, grad, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["pr", "tpr+fpr"])
def test_many_groups_equal_one_process(gang, name):
    for parts in gang.ask(many_groups, partial(KLProjectionLoss, name)):
        (own, own_grad), (value, grad) = parts
        torch.testing.assert_close(own, value, rtol=1e-6, atol=0)
        torch.testing.assert_close(own_grad, grad, rtol=1e-4, atol=1e-9)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("loss_cls", "backend"),
    [(NormLoss, "inductor"), (KLProjectionLoss, "aot_eager")],  # its code is C++
)
def test_compiled_loss_over_processes_equals_the_eager_one(gang, loss_cls, backend):
    answers = gang.ask(compiled_and_eager, partial(loss_cls, "ppv"), backend)
    for (eager, grad), (compiled, other) in answers:
        torch.testing.assert_close(compiled, eager)
        torch.testing.assert_close(other, grad)


def test_process_group_can_be_chosen(gang):
    first, second, third = gang.ask(losses_of_groups, partial(NormLoss, "ppv"))
    assert first[0] == second[0] == third[0]
    torch.testing.assert_close(first[0], NormLoss("ppv")(*batch_of("plain")))
    for rank, (_, alone, *_) in enumerate((first, second, third)):
        batch = own_rows(batch_of("plain"), SHARES["even"], rank)
        assert alone == NormLoss("ppv")(*batch)
    two_thirds = own_rows(batch_of("plain"), (20,), 0)
    torch.testing.assert_close(first[2], NormLoss("ppv")(*two_thirds))
    assert first[2] == second[2]


def test_other_columns_in_another_process_are_refused_in_all(gang):
    for message in gang.ask(errors_of, give_other_columns):
        assert "same columns in all processes; got [9, 8, 7]" in message


def test_traits_may_take_turns_and_are_compared_once(gang):
    sums = [2 * (columns + 1) + 1 for columns in (4, 5)]
    sent = gang.ask(messages_of_two_traits)[0]
    assert sent == [3, sums[0], 3, sums[1], *sums]


def test_group_of_others_is_refused(gang):
    *members, other = gang.ask(errors_of, choose_a_group_of_others)
    assert members == [None, None]
    assert "`process_group` must be a group that this process is in" in other


def test_group_that_is_not_of_this_process_is_refused(gang):
    for message in gang.ask(errors_of, lose_the_group):
        assert "`process_group` must be a group of this process" in message


def test_choice_that_is_no_group_is_refused():
    with pytest.raises(DtypeError, match=r"`process_group` must be a .* got 'world'"):
        NormLoss("pr", process_group="world")


def test_process_that_lost_the_other_does_not_wait_for_ever(tmp_path):
    pair = Gang(2, tmp_path)
    try:
        cases = [(partial(KLProjectionLoss, "pr"), "plain", "even", False)]
        pair.ask(losses_of, cases)
        pair.kill(1)
        with pytest.raises(AssertionError, match="in process 0"):
            pair.ask(losses_of, cases)
    finally:
        pair.close()


@pytest.mark.parametrize("divergence", ["kl", "js", "sed", "chi2", "tv"])
def test_projection_of_a_small_batch_sends_one_message(gang, divergence):
    make = partial(ProjectionLoss, "ppv", divergence)
    answers = gang.ask(messages_of, make, "plain", "uneven")
    assert answers[0] == answers[1] == answers[2]
    columns = 1 + 1 + 1 + batch_of("plain").sens.shape[1]  # logit, weight, label, sens
    assert answers[0][0] == [1 + max(SHARES["uneven"]) * columns]


def test_larger_share_takes_a_second_message_once(gang):
    columns = 2 + batch_of("plain").sens.shape[1]
    make = partial(KLProjectionLoss, "pr")
    gang.ask(messages_of_loss, make, "plain", "even")
    first, second = (
        gang.ask(messages_of, make, "plain", "one has all")[0][0] for _ in range(2)
    )
    assert first == second == [1 + 30 * columns]


@pytest.mark.parametrize("divergence", ["kl", "js", "sed", "chi2"])
def test_newton_step_of_a_large_batch_sends_the_gap_and_half_a_square(gang, divergence):
    make = partial(ProjectionLoss, "ppv", divergence)
    answers = gang.ask(messages_of, make, "plain", "uneven", 0)
    assert answers[0] == answers[1] == answers[2]
    sent, steps, status = answers[0]
    assert status == "CONVERGED"
    assert steps >= 3
    d_s = batch_of("plain").sens.shape[1]
    count, moments, size, *points, value = sent
    # sums of w, of w h, and of w h y, over the groups and all rows
    assert (count, moments, size, value) == (1, 3 * (d_s + 1), d_s, 1)
    assert set(points) == {d_s, d_s * (d_s + 1) // 2}
    assert points.count(d_s) == steps  # no step was cut


def test_violation_sends_one_message(gang):
    for name, parts in (("ppv", 1), ("tpr+ppv", 2)):
        make = partial(NormLoss, name)
        sent = gang.ask(messages_of_loss, make, "plain", "uneven")[0]
        d_s = batch_of("plain").sens.shape[1]
        assert sent == [2 * parts * (d_s + 1) + 1]


def test_projection_with_a_memory_sends_few_messages(gang):
    make = partial(KLProjectionLoss, "tpr+ppv", memory=1000)
    d_s = batch_of("plain").sens.shape[1]
    (gathered,) = gang.ask(messages_of_loss, make, "plain", "uneven")[0]
    assert gathered == 1 + 21 * (2 + 3 * 2 + d_s)  # three coefficients vary by row
    sums = gang.ask(messages_of_loss, make, "plain", "uneven", 0)[0]
    m = 2 * d_s
    point = m * (m + 1) // 2 + 4 * m
    assert sums == [1, (2 + 3 * 2) * (d_s + 1), 1, m, point, 1]


def test_interior_point_step_sends_three_messages(gang):
    make = partial(ProjectionLoss, "ppv", "tv")
    sent, steps, status = gang.ask(messages_of, make, "plain", "uneven", 0)[0]
    assert status == "CONVERGED"
    assert steps >= 5
    around = 10  # to pose the problem, to start, to report
    assert 3 * steps <= len(sent) <= 3 * steps + around
