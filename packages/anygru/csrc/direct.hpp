// What native calls share that take torch's tensors as they are.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "engine.hpp"
#include "operands.hpp"
#include "tensors.hpp"

namespace anygru {

// A new tensor of the input's kind.
template <class... Sizes>
nb::object new_tensor(nb::handle like, Sizes... sizes) {
    static PyObject* const name = PyUnicode_InternFromString("new_empty");
    const nb::int_ numbers[] = {nb::int_(sizes)...};
    PyObject* arguments[1 + sizeof...(sizes)] = {like.ptr()};
    for (std::size_t i = 0; i < sizeof...(sizes); ++i) arguments[i + 1] = numbers[i].ptr();
    PyObject* made = PyObject_VectorcallMethod(name, arguments, 1 + sizeof...(sizes), nullptr);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// Packed weights for an input of so many features.
template <class Real>
bool take_packed(nb::handle weights, ForwardArguments<Real>& arguments) {
    const auto* stored = dynamic_cast<const StoredWeights<Real>*>(nb::inst_ptr<Stored>(weights));
    if (!stored || arguments.halves || stored->packed->shape.input_size != arguments.shape.input_size) return false;
    if (stored->packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    const Shape given = arguments.shape;
    Shape& shape = arguments.shape;
    shape = stored->packed->shape;
    shape.steps = given.steps, shape.batch = given.batch, shape.rows = given.rows;
    arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    arguments.packed = stored->packed.get();
    return true;
}

// Weights of a plain call, or packed ones, into `arguments`; false where one is not what its place asks for. In halves
// those of a plain call are bfloat16, at these addresses.
template <class Real>
bool take_weights(nb::handle weights, const Kind& kind, ForwardArguments<Real>& arguments) {
    if (nb::isinstance<Stored>(weights)) return take_packed(weights, arguments);
    Shape& shape = arguments.shape;
    kind.describe(shape);
    const bool list = PyList_CheckExact(weights.ptr());
    if (!list && !PyTuple_CheckExact(weights.ptr())) return false;
    const Index count = PySequence_Fast_GET_SIZE(weights.ptr()), each = shape.weights_a_direction();
    const Index a_layer = each * shape.directions / shape.groups;
    if (count == 0 || count % a_layer) return false;
    shape.layers = int(count / a_layer);
    check_places(shape);
    if (kind.splits_input && shape.input_size % shape.groups) return false;
    if (arguments.halves && (kind.precision != Precision::highest || shape.groups > 1)) return false;
    const std::uint8_t bits = arguments.halves ? 16 : 8 * sizeof(Real);
    arguments.weights.resize(std::size_t(count * shape.groups));
    const int first = shape.groups > 1;  // the dimension that follows that of the groups
    for (Index i = 0; i < count; ++i) {
        TensorView view;
        PyObject* const weight =
            list ? PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i)) : PyTuple_GET_ITEM(weights.ptr(), Py_ssize_t(i));
        if (!view_of(weight, view) || view.numel() == 0 || view.bits != bits || !view.contiguous())
            return false;
        const Index kind = i % each;
        if (i == 0) {
            if (view.dimensions != first + 2 || view.shape[first] % 3) return false;
            shape.hidden = view.shape[first] / 3;
        }
        if (view.dimensions != first + (kind > 1 ? 1 : 2) || (first && view.shape[0] != shape.groups) ||
            view.shape[first] != 3 * shape.hidden)
            return false;
        if (kind < 2 && view.shape[first + 1] != (kind ? shape.hidden : shape.layer_input(int(i / a_layer))))
            return false;
        spread(arguments.weights, shape, i, each, view.at<const Real>(), view.numel() / shape.groups);
    }
    return true;
}

// Adds `backward_of_layer` to the module.
void define_direct_backward(nb::module_& m);

}  // namespace anygru
