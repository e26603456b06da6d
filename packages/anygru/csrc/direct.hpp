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
    if (!stored || stored->packed->shape.input_size != arguments.shape.input_size) return false;
    if (stored->packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    const Shape given = arguments.shape;
    Shape& shape = arguments.shape;
    shape = stored->packed->shape;
    shape.steps = given.steps, shape.batch = given.batch, shape.rows = given.rows;
    arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    arguments.packed = stored->packed.get();
    return true;
}

// Weights of a plain call, or packed ones, into `arguments`; false where one is not what its place asks for.
template <class Real>
bool take_weights(nb::handle weights, const Kind& kind, ForwardArguments<Real>& arguments) {
    if (nb::isinstance<Stored>(weights)) return take_packed(weights, arguments);
    Shape& shape = arguments.shape;
    shape.directions = kind.bidirectional ? 2 : 1;
    shape.bias = kind.bias;
    shape.norm = kind.norm;
    shape.reset_before = kind.reset_before;
    shape.reverse = kind.reverse;
    shape.precision = kind.precision;
    const bool list = PyList_CheckExact(weights.ptr());
    if (!list && !PyTuple_CheckExact(weights.ptr())) return false;
    const Index count = PySequence_Fast_GET_SIZE(weights.ptr()), each = shape.weights_a_direction();
    if (count == 0 || count % (each * shape.directions)) return false;
    shape.layers = int(count / (each * shape.directions));
    arguments.weights.resize(std::size_t(count));
    for (Index i = 0; i < count; ++i) {
        TensorView view;
        PyObject* const weight =
            list ? PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i)) : PyTuple_GET_ITEM(weights.ptr(), Py_ssize_t(i));
        if (!view_of(weight, view) || view.numel() == 0 || view.bits != 8 * sizeof(Real) || !view.contiguous())
            return false;
        const Index kind = i % each;
        if (i == 0) {
            if (view.dimensions != 2 || view.shape[0] % 3) return false;
            shape.hidden = view.shape[0] / 3;
        }
        if (kind > 1
                ? !view.is(3 * shape.hidden)
                : !view.is(3 * shape.hidden, kind ? shape.hidden : shape.layer_input(int(i / each / shape.directions))))
            return false;
        arguments.weights[std::size_t(i)] = view.at<const Real>();
    }
    return true;
}

// Adds `backward_of_layer` to the module.
void define_direct_backward(nb::module_& m);

}  // namespace anygru
