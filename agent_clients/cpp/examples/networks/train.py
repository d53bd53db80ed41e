"""Trains a network that balances CartPole, and saves it for an agent in C++.

    python train.py policy.pt      # as TorchScript, which libtorch/ plays
    python train.py policy.onnx    # as ONNX, which onnxruntime/ plays; or both names

Your own network takes its place: from observations, (rows, 4) of float32, to the scores of actions,
(rows, 2).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import torch


def trained(*, seed: int = 0, steps: int = 300) -> torch.nn.Module:
    """A network that imitates a rule: push the cart to where the pole falls."""
    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(steps):
        states = torch.randn(256, 4) * torch.tensor([1.0, 1.0, 0.1, 0.5])
        _, _, angle, angular_velocity = states.T  # after the cart's position and velocity
        push_right = (angle + 0.3 * angular_velocity > 0).long()
        loss = torch.nn.functional.cross_entropy(network(states), push_right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


def save(network: torch.nn.Module, path: Path) -> None:
    """Save as TorchScript or ONNX, by the file's suffix. Raises ValueError for another one."""
    observations = torch.zeros(2, 4)
    match path.suffix:
        case ".pt":
            with warnings.catch_warnings():  # PyTorch is to drop TorchScript; LibTorch reads it
                warnings.simplefilter("ignore", DeprecationWarning)
                torch.jit.trace(network, observations).save(path)
        case ".onnx":
            torch.onnx.export(
                network,
                (observations,),
                path,
                dynamic_shapes=({0: torch.export.Dim("rows")},),  # as many as episodes go on
                external_data=False,  # one file
                verbose=False,
            )
        case _:
            raise ValueError(f"got {path}, wanted a name that ends in .pt or .onnx")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="….pt or ….onnx")
    network = trained()
    for path in parser.parse_args().paths:
        save(network, path)
