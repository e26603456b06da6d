"""Steps of the autograd graph that a backward pass of OneFlow 0.9.0 releases and one of torch does not."""

from typing import Any

# The mark on a step of the autograd graph from which backward() began; a second backward() from it is refused.
# torch refuses a second backward() only where a step has saved something, and sums, slices and joins save nothing; 0.9.0
# refuses them as well (recorded).
SPENT = "oneflow: released"

# The steps that serve again in 0.9.0 where torch lets them (recorded).
SERVING = frozenset({
    "Add", "Sub", "Rsub", "Neg", "Mul", "Div", "View", "UnsafeView", "ReshapeAlias", "Clone", "ToCopy", "Unsqueeze",
    "Flip", "Roll", "Triu", "Tril", "Cumsum", "ConstantPadNd", "Floor", "Sign", "Alias",
})  # fmt: skip


def serves_once(last: Any) -> bool:
    """Whether backward() from this step reaches a step that 0.9.0 releases, behind steps that can run again."""
    seen: set[Any] = set()
    open_steps = [last]
    while open_steps:
        step = open_steps.pop()
        name = step.name().rstrip("0123456789").removesuffix("Backward")
        if name in SERVING:
            before = {following for following, _ in step.next_functions if following is not None} - seen
            seen |= before
            open_steps += before
        elif not name.endswith("AccumulateGrad"):
            return True
    return False


def released() -> RuntimeError:
    return RuntimeError("a step of the graph has been released; give retain_graph=True to the first backward()")
