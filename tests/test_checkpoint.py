"""A checkpoint brings back all that decides about the next step, or says what is wrong with it."""

import json
import os
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.training.checkpoint import FILE, differing, read_checkpoint, restore, save_checkpoint
from dtglib.training.schedule import TrainConfig

IDENTITY = {"model": "dtg", "layers": 2, "learning_rate": 1.5e-4, "patience": None}
STANDING = {"steps": 3, "lines": 4, "best": 2.5}


class Small(nn.Module):
    """Embeddings, which learn faster, a layer, and a bias that takes no part in the loss."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding, self.out = nn.Embedding(5, 4), nn.Linear(4, 5)
        self.idle = nn.Parameter(torch.ones(3))

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.embedding(ids))


def begun(seed: int = 0, matrix_rate: float | None = None) -> tuple[nn.Module, torch.optim.AdamW]:
    model = Small(seed)
    return model, TrainConfig(weight_decay=0.01, matrix_rate=matrix_rate).optimizer(model)


def step(model: nn.Module, optimizer: torch.optim.AdamW, number: int) -> None:
    """One step, with a rate and a loss of its own."""
    for group in optimizer.param_groups:
        group["lr"] = 0.1 / (number + 1) * group["times"]
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.arange(5)), torch.arange(5).roll(number)).backward()
    optimizer.step()


def saved(folder: Path, steps: int = 3, matrix_rate: float | None = None) -> tuple[nn.Module, torch.optim.AdamW]:
    """A model after some steps, and a checkpoint of it."""
    model, optimizer = begun(matrix_rate=matrix_rate)
    for number in range(steps):
        step(model, optimizer, number)
    save_checkpoint(folder, IDENTITY, STANDING, model, optimizer)
    return model, optimizer


def averages(model: nn.Module, optimizer: torch.optim.AdamW) -> dict[tuple[str, str], Tensor]:
    """What the optimiser remembers of each parameter."""
    state = {name: optimizer.state.get(parameter, {}) for name, parameter in model.named_parameters()}
    return {(name, key): value for name, values in state.items() for key, value in values.items()}


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_weights_and_the_optimiser_s_averages_come_back_exactly(steps, tmp_path):
    model, optimizer = saved(tmp_path, steps)
    other, its_optimizer = begun(seed=1)
    checkpoint = read_checkpoint(tmp_path, IDENTITY)
    assert (checkpoint.identity, checkpoint.standing) == (IDENTITY, STANDING)
    restore(checkpoint, other, its_optimizer)
    assert all(a.equal(b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    ours, theirs = averages(model, optimizer), averages(other, its_optimizer)
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        assert value.equal(theirs[key]) and value.dtype == theirs[key].dtype, key
    kinds = {"step", "exp_avg", "exp_avg_sq"} if steps else set()
    assert ours.keys() == {(name, kind) for name in ("embedding.weight", "out.weight", "out.bias") for kind in kinds}


@pytest.mark.parametrize("matrix_rate", [None, 2.5])
def test_the_next_steps_are_the_same_bit_by_bit(matrix_rate, tmp_path):
    model, optimizer = saved(tmp_path, matrix_rate=matrix_rate)
    other, its_optimizer = begun(seed=1, matrix_rate=matrix_rate)
    restore(read_checkpoint(tmp_path, IDENTITY), other, its_optimizer)
    of_matrix = {"step", "average"} if matrix_rate else {"step", "exp_avg", "exp_avg_sq"}
    assert {kind for name, kind in averages(other, its_optimizer) if name == "out.weight"} == of_matrix
    for number in range(3, 8):
        step(model, optimizer, number)
        step(other, its_optimizer, number)
    assert all(a.equal(b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_without_the_averages_the_next_steps_would_be_others(tmp_path):
    # Or else the test above could not fail.
    model, optimizer = saved(tmp_path)
    other, its_optimizer = begun()
    other.load_state_dict(model.state_dict())
    step(model, optimizer, 3)
    step(other, its_optimizer, 3)
    assert not model.out.weight.allclose(other.out.weight, atol=1e-3)


def test_a_model_in_which_two_layers_share_a_weight_comes_back_and_still_shares_it(tmp_path):
    def tied(seed: int) -> tuple[nn.Module, torch.optim.AdamW]:
        model = Small(seed)
        model.out.weight = model.embedding.weight
        return model, TrainConfig().optimizer(model)

    model, optimizer = tied(0)
    step(model, optimizer, 0)
    save_checkpoint(tmp_path, IDENTITY, STANDING, model, optimizer)
    other, its_optimizer = tied(1)
    restore(read_checkpoint(tmp_path, IDENTITY), other, its_optimizer)
    assert other.out.weight is other.embedding.weight
    assert other.out.weight.equal(model.out.weight)


def test_a_folder_without_a_checkpoint_has_none(tmp_path):
    assert read_checkpoint(tmp_path, IDENTITY) is None
    assert read_checkpoint(tmp_path / "nowhere", IDENTITY) is None


def test_infinity_comes_back_as_a_number(tmp_path):
    model, optimizer = begun()
    save_checkpoint(tmp_path, IDENTITY, {"best": float("inf")}, model, optimizer)
    assert read_checkpoint(tmp_path, IDENTITY).standing == {"best": float("inf")}


def test_it_is_one_file_of_safetensors_without_pickle(tmp_path):
    saved(tmp_path)
    assert os.listdir(tmp_path) == [FILE]
    names = set(safetensors.torch.load_file(tmp_path / FILE))
    assert {"model.out.weight", "exp_avg.out.weight", "step.out.weight"} <= names


# ---- Of another run


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layers": 4}, ["layers was 2 and is 4"]),
        ({"layers": 4, "patience": 3}, ["layers was 2 and is 4", "patience was None and is 3"]),
        ({"dropout": 0.1}, ["dropout was not set and is 0.1"]),
        ({"learning_rate": 1.6e-4}, ["learning_rate was 0.00015 and is 0.00016"]),
    ],
    ids=str,
)
def test_a_checkpoint_of_other_settings_is_refused_and_the_difference_shown(change, said, tmp_path):
    saved(tmp_path)
    with pytest.raises(UserError) as refused:
        read_checkpoint(tmp_path, {**IDENTITY, **change})
    for part in (str(tmp_path / FILE), "of a run with other settings", "choose another folder", *said):
        assert part in str(refused.value)
    assert "model was" not in str(refused.value)


def test_a_setting_that_is_gone_is_a_difference_too(tmp_path):
    saved(tmp_path)
    with pytest.raises(UserError, match="layers was 2 and is not set"):
        read_checkpoint(tmp_path, {key: value for key, value in IDENTITY.items() if key != "layers"})


def test_a_tuple_is_no_other_setting_than_a_list(tmp_path):
    model, optimizer = begun()
    save_checkpoint(tmp_path, {"betas": (0.9, 0.999)}, STANDING, model, optimizer)
    assert read_checkpoint(tmp_path, {"betas": (0.9, 0.999)})
    assert differing({"a": 1}, {"a": 1}) == ""


# ---- Damaged


def assert_refused(folder: Path) -> None:
    with pytest.raises(UserError) as refused:
        read_checkpoint(folder, IDENTITY)
    assert str(refused.value).startswith(f"{folder / FILE}: damaged")
    assert "delete it, and the training begins anew" in str(refused.value)


def test_a_checkpoint_of_which_a_disk_has_changed_one_bit_is_refused(tmp_path):
    saved(tmp_path)
    changed = bytearray((tmp_path / FILE).read_bytes())
    changed[-1] ^= 1  # of the last weight
    (tmp_path / FILE).write_bytes(changed)
    assert_refused(tmp_path)


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.3, 0.7, 0.999])
def test_half_a_checkpoint_is_refused_and_named(share, tmp_path):
    saved(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[: int(share * len(whole))])
    assert_refused(tmp_path)


def test_a_checkpoint_with_something_behind_it_is_refused(tmp_path):
    saved(tmp_path)
    with open(tmp_path / FILE, "ab") as file:
        file.write(b"x")
    assert_refused(tmp_path)


@pytest.mark.parametrize("content", [b"not a checkpoint at all", b"\0" * 1000, b"\xff" * 1000])
def test_another_file_of_that_name_is_refused(content, tmp_path):
    (tmp_path / FILE).write_bytes(content)
    assert_refused(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        None,
        {},
        {"identity": json.dumps(IDENTITY)},
        {"identity": "{", "standing": "{}"},
    ],
)
def test_tensors_that_do_not_say_of_which_run_they_are_are_refused(header, tmp_path):
    (tmp_path / FILE).write_bytes(safetensors.torch.save({"model.x": torch.ones(1)}, header))
    assert_refused(tmp_path)


def test_a_full_disk_leaves_the_old_checkpoint_whole(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    model, optimizer = saved(tmp_path)
    before = (tmp_path / FILE).read_bytes()
    # What is written beside the file lands on a device that is always full.
    (tmp_path / f"{FILE}.{os.getpid()}.part").symlink_to("/dev/full")
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: No space left on device"):
        save_checkpoint(tmp_path, IDENTITY, {"steps": 9}, model, optimizer)
    assert (tmp_path / FILE).read_bytes() == before
    assert os.listdir(tmp_path) == [FILE]
