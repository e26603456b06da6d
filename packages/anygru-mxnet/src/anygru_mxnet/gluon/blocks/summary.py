"""The table that `Block.summary` prints."""

from typing import Any

from ...ndarray.ndarray import NDArray


def _shapes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shapes(part) for part in value]
    return value.shape if isinstance(value, NDArray) else value


def _shape_text(value: Any) -> str:
    shapes = _shapes(value)
    return str(shapes)[1:-1] if isinstance(shapes, list) else str(shapes)


def print_summary(block: Any, inputs: tuple) -> None:
    """Run the block once and print each layer's output shape and number of parameters.

    Raises:
        AssertionError: for a hybridized block, which does not run layer by layer.
    """
    rows = [("Input", _shape_text(inputs), 0)]
    counts = {"trainable": 0, "shared": 0}
    seen: set[int] = set()
    handles = []

    def after(layer: Any, _: Any, output: Any) -> None:
        total = 0
        for parameter in layer.params.values():
            size = parameter.data().size
            total += size
            counts["trainable"] += 0 if parameter.grad_req == "null" else size
            if id(parameter) in seen:
                counts["shared"] += size
            seen.add(id(parameter))
        rows.append((f"{type(layer).__name__}-{len(rows)}", _shape_text(output), total))

    def watch(layer: Any) -> None:
        assert not getattr(layer, "_active", False), f'"{layer.name}" must not be hybridized to print summary.'
        if layer._in_summary:
            handles.append(layer.register_forward_hook(after))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    total = sum(count for _, _, count in rows)
    line = "{:>20}  {:>42} {:>15}"
    print("-" * 80)
    print(line.format("Layer (type)", "Output Shape", "Param #"))
    print("=" * 80)
    for row in rows:
        print(line.format(*row))
    print("=" * 80)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {counts['trainable']}")
    print(f"   Non-trainable params: {total - counts['trainable']}")
    print(f"Shared params in forward computation graph: {counts['shared']}")
    print(f"Unique parameters in model: {total - counts['shared']}")
    print("-" * 80)
