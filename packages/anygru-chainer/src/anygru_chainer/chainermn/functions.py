"""Functions with inputs or outputs in other processes; backward sends the gradients in the opposite direction."""

from collections.abc import Sequence
from typing import Any

import numpy

from ..function import Function
from ..types import NdArray, VariableLike
from ..variable import Variable
from .communicators import CommunicatorBase

__all__ = ["allgather", "alltoall", "bcast", "gather", "pseudo_connect", "recv", "scatter", "send"]

Arrays = tuple[NdArray, ...]


def _nothing() -> numpy.ndarray:
    """An empty array for data in another process: it keeps the graph connected, and its gradient is unused."""
    return numpy.empty(0, numpy.float32)


class _Communication(Function):
    """The base of all functions in this file.

    Args:
        comm: the communicator.
        root: the process that sends or receives. tag: messages with different tags are separate.
    """

    def __init__(self, comm: CommunicatorBase, root: int = 0, tag: int = 0) -> None:
        self.comm = comm
        self.root = root
        self.tag = tag


class AllGather(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        return self.comm.allgather(inputs[0])

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return (sum(self.comm.alltoall(grad_outputs)),)


class AllToAll(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        if len(inputs) != self.comm.size:
            raise ValueError(
                f"alltoall needs an array for each process: expected {self.comm.size} arrays, got {len(inputs)}"
            )
        return self.comm.alltoall(inputs)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return self.comm.alltoall(grad_outputs)


class Bcast(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        return (self.comm.bcast(inputs[0] if self.comm.rank == self.root else None, self.root),)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        gradients = self.comm.gather(grad_outputs[0], self.root)
        return (_nothing() if gradients is None else sum(gradients),)


class Gather(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        found = self.comm.gather(inputs[0], self.root)
        return (_nothing(),) if found is None else found

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return (self.comm.scatter(grad_outputs if self.comm.rank == self.root else None, self.root),)


class Scatter(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        return (self.comm.scatter(inputs if self.comm.rank == self.root else None, self.root),)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        gradients = self.comm.gather(grad_outputs[0], self.root)
        return (_nothing(),) if gradients is None else gradients


class Send(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        self.comm.send(inputs[:-1], self.root, self.tag)
        return (_nothing(),)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return (*self.comm.recv(self.root, self.tag), _nothing())


class Recv(_Communication):
    def forward(self, inputs: Arrays) -> Arrays:
        return tuple(self.comm.recv(self.root, self.tag))

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        self.comm.send(grad_outputs, self.root, self.tag)
        return tuple([numpy.zeros_like(x) for x in inputs])


class PseudoConnect(Function):
    def forward(self, inputs: Arrays) -> Arrays:
        return inputs[1:]

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return (numpy.zeros_like(inputs[0]), *grad_outputs)


def allgather(comm: CommunicatorBase, x: VariableLike) -> tuple[Variable, ...]:
    """The Variables x of all processes, by rank."""
    return _as_tuple(AllGather(comm)(x))


def alltoall(comm: CommunicatorBase, xs: Sequence[VariableLike]) -> tuple[Variable, ...]:
    """The values of each process for this one, by rank (ValueError unless xs has one for each)."""
    return _as_tuple(AllToAll(comm)(*xs))


def bcast(comm: CommunicatorBase, x: VariableLike, root: int = 0) -> Variable:
    """The Variable x of one process in all of them; the others pass None."""
    return Bcast(comm, root)(x if comm.rank == root else Variable(_nothing()))


def gather(comm: CommunicatorBase, x: VariableLike, root: int = 0) -> Any:
    """The Variables of all processes in process `root`; other processes get a Variable that returns gradients in
    backward."""
    found = Gather(comm, root)(x)
    return _as_tuple(found) if comm.rank == root else found


def scatter(comm: CommunicatorBase, xs: Sequence[VariableLike] | None, root: int = 0) -> Variable:
    """One of the Variables of process `root` for each process; the others pass None."""
    if comm.rank != root or xs is None:
        return Scatter(comm, root)(Variable(_nothing()))
    return Scatter(comm, root)(*xs)


def _other(comm: CommunicatorBase, rank: int) -> None:
    if rank == comm.rank:
        raise ValueError("rank must be different from communicator rank, otherwise deadlock occurs")


def send(x: VariableLike, communicator: CommunicatorBase, rank: int, tag: int = 0) -> Variable:
    """Send a Variable, or a list of them, to another process.

    Returns:
        A Variable without data: its `backward` waits for the gradients that the other process sends back.
    """
    _other(communicator, rank)
    xs = x if isinstance(x, (list, tuple)) else (x,)
    sent = Send(communicator, rank, tag)(*xs, Variable(_nothing()))
    sent.name = "delegate_variable"
    return sent


def recv(
    communicator: CommunicatorBase,
    rank: int,
    delegate_variable: Variable | None = None,
    tag: int = 0,
    force_tuple: bool = False,
) -> Any:
    """The Variable that another process sends, or a tuple of them; their `backward` sends the gradients back.

    Args:
        delegate_variable: the result of an earlier `send`, so that `backward` continues there.
        force_tuple: return a tuple even for one Variable.
    """
    _other(communicator, rank)
    if delegate_variable is None:
        delegate_variable = Variable(_nothing())
    found = Recv(communicator, rank, tag)(delegate_variable)
    return _as_tuple(found) if force_tuple else found


def pseudo_connect(delegate_variable: Variable, *actual_variables: VariableLike) -> Any:
    """The other Variables, connected to the result of `send`, so that `backward` continues there."""
    return PseudoConnect()(delegate_variable, *actual_variables)


def _as_tuple(found: Any) -> tuple[Variable, ...]:
    return found if isinstance(found, tuple) else (found,)
