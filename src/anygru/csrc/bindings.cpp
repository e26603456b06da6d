// The native module: checks every size against every address, then computes. A tensor comes as itself, or as its address and
// number of bytes; nothing is read or written before all of them fit the shape.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "engine.hpp"
#include "operands.hpp"
#include "tensors.hpp"
#include "threads.hpp"
#include "variants.hpp"

namespace nb = nanobind;
using anygru::Index;

namespace {

using anygru::multiply;
using anygru::operand;
using anygru::optional_tensor;
using anygru::refuse;
using anygru::Stored;
using anygru::StoredWeights;
using anygru::tensor;
using anygru::thread_count;

anygru::Shape make_shape(Index steps, Index batch, Index input_size, Index hidden, Index layers, bool bidirectional, bool bias,
                       bool reset_before, nb::handle sizes) {
    if (steps < 0 || batch < 0 || input_size < 0) refuse("steps, batch and input_size must not be negative");
    if (hidden < 1 || layers < 1 || layers > 100000) refuse("hidden and layers must be at least 1");
    anygru::Shape shape{};
    shape.steps = steps;
    shape.batch = batch;
    shape.input_size = input_size;
    shape.hidden = hidden;
    shape.layers = int(layers);
    shape.directions = bidirectional ? 2 : 1;
    shape.bias = bias;
    shape.reset_before = reset_before;
    shape.rows = multiply({steps, batch}, "the batch");
    if (!sizes.is_none()) {
        const Index* values = tensor<const Index>(sizes, steps, "batch_sizes");
        Index before = batch;
        shape.rows = 0;
        for (Index t = 0; t < steps; ++t) {
            if (values[t] < 0 || values[t] > before)
                refuse("batch_sizes must be between 0 and the batch size and never increase, got " +
                       std::to_string(values[t]) + " at step " + std::to_string(t));
            before = values[t];
            shape.rows += values[t];
        }
        static const Index none = 0;
        shape.sizes = steps ? values : &none;
    }
    // The largest arrays that any pass makes from this shape.
    multiply({shape.rows + batch + 1, Index(shape.directions), layers, 5, hidden}, "hidden");
    multiply({3, hidden + 64, hidden + 64}, "hidden");
    multiply({3, hidden + 64, input_size + 64}, "input_size");
    return shape;
}

// Rows of `width` values, either steps first or, in a dense batch, sequences first.
template <class Real>
anygru::Rows<Real> rows(const anygru::Shape& shape, nb::handle given, Index step_stride, Index row_stride, Index width,
                      const char* name) {
    Real* data = tensor<Real>(given, multiply({shape.rows, width}, name), name);
    if (shape.sizes) {
        if (row_stride != width) refuse(std::string(name) + " must be packed rows without gaps");
    } else if (data) {
        // The stride of a dimension of one element is never used.
        const bool steps_first = (shape.batch == 1 || row_stride == width) &&
                                 (shape.steps == 1 || step_stride == shape.batch * width);
        const bool sequences_first = (shape.steps == 1 || step_stride == width) &&
                                     (shape.batch == 1 || row_stride == shape.steps * width);
        if (!steps_first && !sequences_first) refuse(std::string(name) + " has strides that do not fit its shape");
    }
    return {data, step_stride, row_stride};
}

template <class Real>
std::vector<const Real*> weight_list(const anygru::Shape& shape, nb::list weights) {
    const int each = shape.weights_a_direction();
    const std::size_t expected = std::size_t(shape.layers) * shape.directions * each;
    if (weights.size() != expected)
        refuse("weights must be " + std::to_string(expected) + " tensors, got " + std::to_string(weights.size()));
    std::vector<const Real*> result(expected);
    for (std::size_t i = 0; i < expected; ++i) {
        const int kind = int(i % each);
        const Index width = kind == 0 ? shape.layer_input(int(i / each) / shape.directions) : kind == 1 ? shape.hidden : 1;
        const char* name = kind == 0 ? "weight_ih" : kind == 1 ? "weight_hh" : kind == 2 ? "bias_ih" : "bias_hh";
        result[i] = tensor<const Real>(nb::handle(PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i))),
                                       multiply({3, shape.hidden, width}, name), name);
    }
    return result;
}

template <class Real>
void forward(const anygru::Shape& shape, nb::handle input, Index step_stride, Index row_stride, nb::handle h_0,
             nb::handle weights, nb::handle output, Index output_step_stride, Index output_row_stride, nb::handle h_n,
             nb::handle reserve, Index threads) {
    anygru::ForwardArguments<Real> arguments{};
    arguments.shape = shape;
    const Index features = shape.directions * shape.hidden;
    const Index states = multiply({shape.layers, features, shape.batch}, "h_0");
    arguments.input = rows<const Real>(shape, input, step_stride, row_stride, shape.input_size, "input");
    arguments.output = rows<Real>(shape, output, output_step_stride, output_row_stride, features, "output");
    arguments.h_0 = tensor<const Real>(h_0, states, "h_0");
    arguments.h_n = tensor<Real>(h_n, states, "h_n");
    arguments.reserve = optional_tensor<Real>(reserve, anygru::reserve_size(shape), "reserve");
    arguments.threads = thread_count(threads);
    if (nb::isinstance<Stored>(weights)) {
        arguments.packed = anygru::fitting<Real>(weights, shape);
        arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    } else {
        if (!PyList_CheckExact(weights.ptr())) refuse("weights must be a list of (address, bytes)");
        arguments.weights = weight_list<Real>(shape, nb::borrow<nb::list>(weights));
    }
    nb::gil_scoped_release release;
    anygru::forward(arguments);
}

template <class Real>
void backward(const anygru::Shape& shape, nb::handle grad_output, Index grad_step_stride, Index grad_row_stride,
              nb::handle grad_h_n, nb::handle output, Index step_stride, Index row_stride, nb::handle h_0, nb::handle kept,
              nb::list weights_hh, nb::handle grad_gates, nb::handle previous, nb::handle grad_h_0, Index threads) {
    if (shape.layers != 1) refuse("backward takes one layer at a time");
    anygru::BackwardArguments<Real> arguments{};
    arguments.shape = shape;
    const Index features = shape.directions * shape.hidden;
    const Index states = multiply({features, shape.batch}, "h_0");
    if (!grad_output.is_none())
        arguments.grad_output =
            rows<const Real>(shape, grad_output, grad_step_stride, grad_row_stride, features, "grad_output");
    arguments.grad_h_n = optional_tensor<const Real>(grad_h_n, states, "grad_h_n");
    arguments.output = rows<const Real>(shape, output, step_stride, row_stride, features, "output");
    arguments.h_0 = tensor<const Real>(h_0, states, "h_0");
    const Index unit_rows = multiply({shape.rows, features}, "grad_gates");
    arguments.kept = tensor<const Real>(kept, 4 * unit_rows, "kept");
    arguments.grad_gates = tensor<Real>(grad_gates, (shape.reset_before ? 3 : 4) * unit_rows, "grad_gates");
    arguments.previous = optional_tensor<Real>(previous, unit_rows, "previous");
    arguments.grad_h_0 = tensor<Real>(grad_h_0, states, "grad_h_0");
    if (weights_hh.size() != std::size_t(shape.directions)) refuse("weights_hh must have one tensor a direction");
    for (nb::handle weight : weights_hh)
        arguments.weights_hh.push_back(tensor<const Real>(weight, multiply({3, shape.hidden, shape.hidden}, "weight_hh"), "weight_hh"));
    arguments.threads = thread_count(threads);
    nb::gil_scoped_release release;
    anygru::backward(arguments);
}

template <class Real>
void gradients(Index rows, Index input_size, Index hidden, bool reset_before, nb::handle gates, nb::handle previous,
               nb::handle kept, nb::handle input, nb::handle weight_ih_gradient, nb::handle weight_hh_gradient,
               nb::handle bias_ih_gradient, nb::handle bias_hh_gradient, bool adds, Index threads) {
    const Index square = multiply({3, hidden, hidden}, "hidden"), wide = multiply({3, hidden, input_size}, "input_size");
    const Index units = multiply({rows, hidden, 4}, "gates") / 4, features = multiply({rows, input_size}, "input");
    anygru::Gradients<Real> arguments{};
    arguments.rows = rows;
    arguments.input_size = input_size;
    arguments.hidden = hidden;
    arguments.reset_before = reset_before;
    arguments.gates = tensor<const Real>(gates, (reset_before ? 3 : 4) * units, "gates");
    arguments.previous = tensor<const Real>(previous, units, "previous");
    arguments.kept = optional_tensor<const Real>(kept, 4 * units, "kept");
    if (reset_before && !weight_hh_gradient.is_none() && kept.is_none()) refuse("kept is needed with reset_before");
    arguments.input = tensor<const Real>(input, features, "input");
    arguments.weight_ih_gradient = optional_tensor<Real>(weight_ih_gradient, wide, "weight_ih_gradient");
    arguments.weight_hh_gradient = optional_tensor<Real>(weight_hh_gradient, square, "weight_hh_gradient");
    arguments.bias_ih_gradient = optional_tensor<Real>(bias_ih_gradient, 3 * hidden, "bias_ih_gradient");
    arguments.bias_hh_gradient = optional_tensor<Real>(bias_hh_gradient, 3 * hidden, "bias_hh_gradient");
    arguments.adds = adds;
    const int used = thread_count(threads);
    nb::gil_scoped_release release;
    anygru::gradients(arguments, used);
}

}  // namespace

NB_MODULE(_native, m) {
    m.attr("__doc__") = "The native kernels of anygru.";

    nb::class_<Stored>(m, "PackedWeights", "Weights in the order of the kernels, for a stream.");

    m.def("forward",
          [](int itemsize, Index steps, Index batch, Index input_size, Index hidden, Index layers, bool bidirectional,
             bool bias, bool reset_before, nb::handle sizes, nb::handle input, Index step_stride, Index row_stride,
             nb::handle h_0, nb::handle weights, nb::handle output, Index output_step_stride, Index output_row_stride,
             nb::handle h_n, nb::handle reserve, Index threads) {
              const anygru::Shape shape =
                  make_shape(steps, batch, input_size, hidden, layers, bidirectional, bias, reset_before, sizes);
              if (itemsize != 4 && itemsize != 8) refuse("itemsize must be 4 or 8");
              (itemsize == 4 ? &forward<float> : &forward<double>)(shape, input, step_stride, row_stride, h_0, weights, output,
                                                                   output_step_stride, output_row_stride, h_n, reserve,
                                                                   threads);
          }, nb::arg("itemsize"), nb::arg("steps"), nb::arg("batch"), nb::arg("input_size"), nb::arg("hidden"), nb::arg("layers"), nb::arg("bidirectional"), nb::arg("bias"), nb::arg("reset_before"), nb::arg("sizes").none(), nb::arg("input"), nb::arg("step_stride"), nb::arg("row_stride"), nb::arg("h_0"), nb::arg("weights"), nb::arg("output"), nb::arg("output_step_stride"), nb::arg("output_row_stride"), nb::arg("h_n"), nb::arg("reserve").none(), nb::arg("threads"));

    m.def("backward",
          [](int itemsize, Index steps, Index batch, Index hidden, bool bidirectional, bool reset_before, nb::handle sizes,
             nb::handle grad_output, Index grad_step_stride, Index grad_row_stride, nb::handle grad_h_n, nb::handle output,
             Index step_stride, Index row_stride, nb::handle h_0, nb::handle kept, nb::list weights_hh, nb::handle grad_gates,
             nb::handle previous, nb::handle grad_h_0, Index threads) {
              const anygru::Shape shape = make_shape(steps, batch, 0, hidden, 1, bidirectional, false, reset_before, sizes);
              if (itemsize != 4 && itemsize != 8) refuse("itemsize must be 4 or 8");
              (itemsize == 4 ? &backward<float> : &backward<double>)(shape, grad_output, grad_step_stride, grad_row_stride,
                                                                     grad_h_n, output, step_stride, row_stride, h_0, kept,
                                                                     weights_hh, grad_gates, previous, grad_h_0, threads);
          }, nb::arg("itemsize"), nb::arg("steps"), nb::arg("batch"), nb::arg("hidden"), nb::arg("bidirectional"), nb::arg("reset_before"), nb::arg("sizes").none(), nb::arg("grad_output").none(), nb::arg("grad_step_stride"), nb::arg("grad_row_stride"), nb::arg("grad_h_n").none(), nb::arg("output"), nb::arg("step_stride"), nb::arg("row_stride"), nb::arg("h_0"), nb::arg("kept"), nb::arg("weights_hh"), nb::arg("grad_gates"), nb::arg("previous").none(), nb::arg("grad_h_0"), nb::arg("threads"));

    m.def("gradients",
          [](int itemsize, Index rows, Index input_size, Index hidden, bool reset_before, nb::handle gates, nb::handle previous,
             nb::handle kept, nb::handle input, nb::handle weight_ih_gradient, nb::handle weight_hh_gradient,
             nb::handle bias_ih_gradient, nb::handle bias_hh_gradient, bool adds, Index threads) {
              if (itemsize != 4 && itemsize != 8) refuse("itemsize must be 4 or 8");
              if (rows < 0 || input_size < 0 || hidden < 1) refuse("rows and input_size must not be negative, hidden at least 1");
              (itemsize == 4 ? &gradients<float> : &gradients<double>)(
                  rows, input_size, hidden, reset_before, gates, previous, kept, input, weight_ih_gradient, weight_hh_gradient,
                  bias_ih_gradient, bias_hh_gradient, adds, threads);
          }, nb::arg("itemsize"), nb::arg("rows"), nb::arg("input_size"), nb::arg("hidden"), nb::arg("reset_before"), nb::arg("gates"), nb::arg("previous"), nb::arg("kept").none(), nb::arg("input"), nb::arg("weight_ih_gradient").none(), nb::arg("weight_hh_gradient").none(), nb::arg("bias_ih_gradient").none(), nb::arg("bias_hh_gradient").none(), nb::arg("adds"), nb::arg("threads"));

    m.def("pack",
          [](int itemsize, Index input_size, Index hidden, Index layers, bool bidirectional, bool bias, bool reset_before,
             nb::list weights) -> Stored* {
              const anygru::Shape shape = make_shape(0, 0, input_size, hidden, layers, bidirectional, bias, reset_before, nb::none());
              if (itemsize == 4) return new StoredWeights<float>(anygru::pack<float>(shape, weight_list<float>(shape, weights)));
              if (itemsize == 8) return new StoredWeights<double>(anygru::pack<double>(shape, weight_list<double>(shape, weights)));
              refuse("itemsize must be 4 or 8");
          }, nb::rv_policy::take_ownership);

    anygru::define_direct_calls(m);

    m.def("set_tensor_types", [](nb::handle table, nb::handle tensor, nb::handle parameter) {
        if (!anygru::set_tensor_types(table.ptr(), tensor.ptr(), parameter.ptr())) throw nb::python_error();
        return anygru::reads_tensors();
    }, nb::arg("table").none(), nb::arg("tensor"), nb::arg("parameter"));

    m.def("sum_float32", [](nb::handle values, Index count) -> double {
        const float* at = tensor<const float>(values, count < 0 ? 0 : count, "values");
        nb::gil_scoped_release release;
        return anygru::kernels().single.sum(at, count);
    }, nb::arg("values"), nb::arg("count"), "The sum of an array as one thread reads it fastest; `anygru bench` times it.");

    m.def("isa", [] { return anygru::kernels().name; }, "The instruction set in use.");
    m.def("use", [](const std::string& name) { anygru::use_kernels(name.c_str()); }, "Chooses an instruction set by name.");
    m.def("variants", [] {
        nb::list names;
        for (const char* const* name = anygru::executable_variants(); *name; ++name) names.append(*name);
        return names;
    }, "Instruction sets that this CPU executes, best first.");
    m.def("thread_pool", &anygru::thread_pool, "Whose threads compute: \"openmp\" (PyTorch's) or \"own\".");
}
