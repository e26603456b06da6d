"""Programs that train a GRU with a library. Each takes a function that may accelerate its model, and gives numbers.

Libraries without models train `Model`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Program = Callable[[Callable[[nn.Module], object]], Tensor]
STEPS = 5


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(8, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0][:, -1])


def data() -> tuple[Tensor, Tensor]:
    x = torch.randn(16, 30, 8)
    return x, x[:, -1, :1]


def made(fast: Callable[[nn.Module], object]) -> Model:
    model = Model()
    fast(model)
    return model


def train(model: nn.Module, loss: Callable[[], Tensor], after: Callable[[], object] = lambda: None) -> None:
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], 1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        after()


def captum(fast: Callable[[nn.Module], object]) -> Tensor:
    from captum.attr import IntegratedGradients

    model, (x, _) = made(fast), data()
    return IntegratedGradients(lambda x: model(x)[:, 0]).attribute(x[:4], n_steps=10).detach()


def lightning(fast: Callable[[nn.Module], object]) -> Tensor:
    from lightning import LightningModule, Trainer

    model, (x, y) = made(fast), data()

    class Trained(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            return nn.functional.mse_loss(self.model(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), 1e-3)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(max_epochs=2, accelerator="cpu", enable_checkpointing=False, **quiet)
    trainer.fit(Trained(), torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 4))
    return model(x).detach()


def peft(fast: Callable[[nn.Module], object]) -> Tensor:
    from peft import LoraConfig, get_peft_model

    tuned = get_peft_model(made(fast), LoraConfig(r=2, target_modules=["head"], modules_to_save=["gru"]))
    x, y = data()
    train(tuned, lambda: nn.functional.mse_loss(tuned(x), y))
    return tuned(x).detach()


def torch_ema(fast: Callable[[nn.Module], object]) -> Tensor:
    from torch_ema import ExponentialMovingAverage

    model, (x, y) = made(fast), data()
    average = ExponentialMovingAverage(model.parameters(), decay=0.9)
    train(model, lambda: nn.functional.mse_loss(model(x), y), average.update)
    with average.average_parameters():
        return model(x).detach()


def higher(fast: Callable[[nn.Module], object]) -> Tensor:
    from higher import innerloop_ctx

    model, (x, y) = made(fast), data()
    inner = torch.optim.SGD(model.parameters(), 0.1)
    with innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, steps):
        for _ in range(2):
            steps.step(nn.functional.mse_loss(functional(x[:8]), y[:8]))
        nn.functional.mse_loss(functional(x[8:]), y[8:]).backward()
    return torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])


def pfrl(fast: Callable[[nn.Module], object]) -> Tensor:
    from pfrl.nn import RecurrentSequential
    from pfrl.utils.recurrent import pack_and_forward

    model = RecurrentSequential(nn.GRU(8, 32), nn.Linear(32, 1))
    fast(model)
    episodes = [torch.randn(steps, 8) for steps in (30, 21, 7)]
    train(model, lambda: pack_and_forward(model, episodes, None)[0].square().mean())
    return pack_and_forward(model, episodes, None)[0].detach()


def deepctr_torch(fast: Callable[[nn.Module], object]) -> Tensor:
    from deepctr_torch.inputs import SparseFeat, VarLenSparseFeat
    from deepctr_torch.models import DIEN

    rows, steps = 32, 20
    features = [
        SparseFeat("item", 50, embedding_dim=16),
        VarLenSparseFeat(SparseFeat("hist_item", 50, 16, embedding_name="item"), steps, length_name="seq_length"),
    ]
    model = DIEN(features, ["item"], gru_type="AIGRU", device="cpu")
    fast(model)
    items, lengths = torch.randint(1, 50, (rows, steps + 1)), torch.randint(1, steps + 1, (rows, 1))
    x = torch.cat((items, lengths), 1).float()
    train(model, lambda: nn.functional.binary_cross_entropy(model(x), (items[:, :1] % 2).float()))
    return model(x).detach()


PROGRAMS: dict[str, Program] = {
    each.__name__: each for each in (captum, lightning, peft, torch_ema, higher, pfrl, deepctr_torch)
}
