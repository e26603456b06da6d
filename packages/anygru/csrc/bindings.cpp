// The native module: checks every size against every address, then computes. A tensor comes as itself, or as its
// address and number of bytes; nothing is read or written before all of them fit the shape.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "engine.hpp"
#include "mersenne.hpp"
#include "operands.hpp"
#include "tensors.hpp"
#include "threads.hpp"
#include "variants.hpp"

namespace nb = nanobind;
using anygru::Index;

namespace {

using anygru::Activation;
using anygru::Arguments;
using anygru::check_places;
using anygru::Key;
using anygru::Kind;
using anygru::modifiers;
using anygru::multiply;
namespace keys = anygru::keys;
using anygru::refuse;
using anygru::refuse_type;
using anygru::Stored;
using anygru::StoredWeights;
using anygru::tensor;
using anygru::thread_count;

anygru::Shape make_shape(const Arguments& given, Index input_size, Index layers) {
    const Kind& kind = given.kind();
    const Index steps = given.number(keys::steps), batch = given.number(keys::batch);
    const Index hidden = given.number(keys::hidden);
    if (steps < 0 || batch < 0 || input_size < 0) refuse("steps, batch and input_size must not be negative");
    if (hidden < 1 || layers < 1 || layers > 100000) refuse("hidden and layers must be at least 1");
    multiply({std::max({steps, batch, input_size, hidden})}, "the shape");  // each alone, so that sums fit, too
    if (hidden % kind.groups || (kind.splits_input && input_size % kind.groups))
        refuse("hidden, and an input that is split, must be multiples of the groups");
    anygru::Shape shape{};
    shape.steps = steps;
    shape.batch = batch;
    shape.input_size = input_size;
    shape.hidden = hidden / kind.groups;
    shape.layers = int(layers);
    kind.describe(shape);
    check_places(shape);
    shape.rows = multiply({steps, batch}, "the batch");
    if (given.find(keys::sizes).is_valid()) {
        const Index* values = given.tensor<const Index>(keys::sizes, steps);
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
    multiply({shape.rows + batch + 1, kind.bidirectional ? 2 : 1, layers, 16, hidden}, "hidden");
    multiply({3, hidden + 64, hidden + 64}, "hidden");
    multiply({3, hidden + 64, input_size + 64}, "input_size");
    return shape;
}

// The arguments that describe rows of a batch.
struct RowKeys {
    const Key &data, &step_stride, &row_stride;
};

// Rows of `width` values, either steps first or, in a dense batch, sequences first.
template <class Real>
anygru::Rows<Real> rows(const Arguments& given, const anygru::Shape& shape, Index width, const RowKeys& which) {
    const std::string name = which.data.name;
    Real* data = given.tensor<Real>(which.data, multiply({shape.rows, width}, which.data.name));
    const Index step_stride = given.number(which.step_stride), row_stride = given.number(which.row_stride);
    if (shape.sizes) {
        if (row_stride != width) refuse(name + " must be packed rows without gaps");
    } else if (data) {
        // The stride of a dimension of one element is never used.
        const bool steps_first =
            (shape.batch == 1 || row_stride == width) && (shape.steps == 1 || step_stride == shape.batch * width);
        const bool sequences_first =
            (shape.steps == 1 || step_stride == width) && (shape.batch == 1 || row_stride == shape.steps * width);
        if (!steps_first && !sequences_first) refuse(name + " has strides that do not fit its shape");
    }
    return {data, step_stride, row_stride};
}

// The columns of tensor number `i` of a layer's weights.
Index width_of(const anygru::Shape& shape, Index i, Index each) {
    const Index kind = i % each;
    if (kind > 0) return kind == 1 ? shape.hidden : 1;
    return shape.layer_input(int(i / each * shape.groups / shape.directions));
}

template <class Real>
std::vector<const Real*> weight_list(const anygru::Shape& shape, nb::handle given) {
    if (!PyList_CheckExact(given.ptr())) refuse_type("weights must be a list of tensors", given);
    const auto weights = nb::borrow<nb::list>(given);
    const int each = shape.weights_a_direction();
    const Index expected = Index(shape.layers) * (shape.directions / shape.groups) * each;
    if (Index(weights.size()) != expected)
        refuse("weights must be " + std::to_string(expected) + " tensors, got " + std::to_string(weights.size()));
    std::vector<const Real*> result(std::size_t(expected * shape.groups));
    for (Index i = 0; i < expected; ++i) {
        const int kind = int(i % each);
        const Index width = width_of(shape, i, each);
        const char* name = kind == 0 ? "weight_ih" : kind == 1 ? "weight_hh" : "a bias or gain";
        const Real* given = tensor<const Real>(nb::handle(PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i))),
                                               multiply({3, shape.hidden, width, shape.groups}, name), name);
        anygru::spread(result, shape, i, each, given, 3 * shape.hidden * width);
    }
    return result;
}

template <class Real>
void forward(const Arguments& given) {
    anygru::ForwardArguments<Real> arguments{};
    arguments.shape = make_shape(given, given.number(keys::input_size), given.number(keys::layers));
    const anygru::Shape& shape = arguments.shape;
    const Index features = shape.directions * shape.hidden;
    const Index states = multiply({shape.layers, features, shape.batch}, "h_0");
    arguments.input =
        rows<const Real>(given, shape, shape.input_size, {keys::input, keys::step_stride, keys::row_stride});
    arguments.output =
        rows<Real>(given, shape, features, {keys::output, keys::output_step_stride, keys::output_row_stride});
    arguments.h_0 = given.tensor<const Real>(keys::h_0, states);
    arguments.h_n = given.tensor<Real>(keys::h_n, states);
    arguments.modifiers = modifiers<Real>(given, shape);
    arguments.reserve = given.optional_tensor<Real>(keys::reserve, anygru::reserve_size(shape));
    arguments.threads = thread_count(given.number(keys::threads));
    const nb::handle weights = given.get(keys::weights);
    if (nb::isinstance<Stored>(weights)) {
        arguments.packed = anygru::fitting<Real>(weights, shape);
        arguments.weights.resize(std::size_t(shape.layers) * shape.directions * shape.weights_a_direction());
    } else {
        arguments.weights = weight_list<Real>(shape, weights);
    }
    nb::gil_scoped_release release;
    anygru::forward(arguments);
}

template <class Real>
void take_norm(const Arguments& given, anygru::BackwardArguments<Real>& arguments) {
    const anygru::Shape& shape = arguments.shape;
    const Index width = anygru::norm_width(shape.hidden);
    arguments.norm_kept = given.tensor<const Real>(keys::norm_kept, shape.rows * shape.directions * width);
    arguments.grad_norms =
        given.tensor<Real>(keys::grad_norms, anygru::norm_tiles(shape.batch) * shape.directions * 12 * shape.hidden);
    const auto gains = given.list(keys::gains);
    if (Index(gains.size()) * shape.groups != 2 * Index(shape.directions))
        refuse("gains must be two tensors a direction");
    arguments.gains.resize(2 * std::size_t(shape.directions));
    for (Index i = 0; i < Index(gains.size()); ++i)
        anygru::spread(arguments.gains, shape, i, 2,
                       tensor<const Real>(gains[std::size_t(i)], 3 * shape.hidden * shape.groups, "gains"),
                       3 * shape.hidden);
}

template <class Real>
void backward(const Arguments& given) {
    anygru::BackwardArguments<Real> arguments{};
    arguments.shape = make_shape(given, 0, 1);
    const anygru::Shape& shape = arguments.shape;
    const Index features = shape.directions * shape.hidden;
    const Index states = multiply({features, shape.batch}, "h_0");
    if (given.find(keys::grad_output).is_valid())
        arguments.grad_output = rows<const Real>(given, shape, features,
                                                 {keys::grad_output, keys::grad_step_stride, keys::grad_row_stride});
    arguments.grad_h_n = given.optional_tensor<const Real>(keys::grad_h_n, states);
    arguments.output =
        rows<const Real>(given, shape, features, {keys::output, keys::output_step_stride, keys::output_row_stride});
    arguments.h_0 = given.tensor<const Real>(keys::h_0, states);
    const Index unit_rows = multiply({shape.rows, features}, "grad_gates");
    arguments.kept = given.tensor<const Real>(keys::kept, 4 * unit_rows);
    const Index columns = anygru::gate_columns(shape.reset_before, shape.norm);
    arguments.grad_gates = given.tensor<Real>(keys::grad_gates, multiply({columns, unit_rows}, "grad_gates"));
    arguments.previous = given.optional_tensor<Real>(keys::previous, unit_rows);
    arguments.modifiers = modifiers<Real>(given, shape);
    arguments.grad_decay = given.optional_tensor<Real>(keys::grad_decay, unit_rows);
    arguments.grad_offset = given.optional_tensor<Real>(keys::grad_offset, unit_rows);
    arguments.grad_h_0 = given.tensor<Real>(keys::grad_h_0, states);
    if (shape.norm) take_norm(given, arguments);
    const auto weights_hh = given.list(keys::weights_hh);
    if (Index(weights_hh.size()) * shape.groups != shape.directions)
        refuse("weights_hh must have one tensor a direction");
    const Index square = multiply({3, shape.hidden, shape.hidden}, "weight_hh");
    arguments.weights_hh.resize(std::size_t(shape.directions));
    for (Index i = 0; i < Index(weights_hh.size()); ++i)
        anygru::spread(arguments.weights_hh, shape, i, 1,
                       tensor<const Real>(weights_hh[std::size_t(i)], square * shape.groups, "weight_hh"), square);
    arguments.clipping = Real(given.real(keys::clipping));
    arguments.threads = thread_count(given.number(keys::threads));
    nb::gil_scoped_release release;
    anygru::backward(arguments);
}

template <class Real>
void gradients(const Arguments& given) {
    const Index rows = given.number(keys::rows), input_size = given.number(keys::input_size);
    const Index hidden = given.number(keys::hidden);
    if (rows < 0 || input_size < 0 || hidden < 1) refuse("rows and input_size must not be negative, hidden at least 1");
    const Kind& kind = given.kind();
    const bool reset_before = kind.reset_before;
    const Index square = multiply({3, hidden, hidden}, "hidden"),
                wide = multiply({3, hidden, input_size}, "input_size");
    const Index units = multiply({rows, hidden, 6}, "gates") / 6, features = multiply({rows, input_size}, "input");
    anygru::Gradients<Real> arguments{};
    arguments.rows = rows;
    arguments.input_size = input_size;
    arguments.hidden = hidden;
    arguments.reset_before = reset_before;
    arguments.norm = kind.norm;
    arguments.gates = given.tensor<const Real>(keys::gates, anygru::gate_columns(reset_before, kind.norm) * units);
    arguments.previous = given.tensor<const Real>(keys::previous, units);
    arguments.kept = given.optional_tensor<const Real>(keys::kept, 4 * units);
    arguments.input = given.tensor<const Real>(keys::input, features);
    arguments.weight_ih_gradient = given.optional_tensor<Real>(keys::weight_ih_gradient, wide);
    arguments.weight_hh_gradient = given.optional_tensor<Real>(keys::weight_hh_gradient, square);
    const bool lacks_kept = !given.find(keys::kept).is_valid() && given.find(keys::weight_hh_gradient).is_valid();
    if (reset_before && lacks_kept) refuse("kept is needed with reset_before");
    arguments.bias_ih_gradient = given.optional_tensor<Real>(keys::bias_ih_gradient, 3 * hidden);
    arguments.bias_hh_gradient = given.optional_tensor<Real>(keys::bias_hh_gradient, 3 * hidden);
    arguments.adds = given.flag(keys::adds);
    arguments.precision = kind.precision;
    arguments.input_gradient = given.optional_tensor<Real>(keys::input_gradient, features);
    if (arguments.input_gradient) {
        arguments.weight_ih = given.tensor<const Real>(keys::weight_ih, wide);
        arguments.adds_input = given.flag(keys::adds_input);
    }
    const int used = thread_count(given.number(keys::threads));
    nb::gil_scoped_release release;
    anygru::gradients(arguments, used);
}

// Whether the call is in float64; else in float32.
bool is_double(Index itemsize) {
    if (itemsize != 4 && itemsize != 8) refuse("itemsize must be 4 or 8");
    return itemsize == 8;
}

bool is_double(const Arguments& given) { return is_double(given.number(keys::itemsize)); }

anygru::Storage storage_of(const std::string& format) {
    if (format == "float32" || format == "float64") return anygru::Storage::full;
    if (format == "bfloat16") return anygru::Storage::bfloat16;
    if (format == "bfloat16_rows") return anygru::Storage::bfloat16_rows;
    if (format == "int8") return anygru::Storage::int8;
    refuse("format must be float32, float64, bfloat16, bfloat16_rows or int8, got " + format);
}

anygru::Precision precision_of(const std::string& name) {
    if (name == "highest") return anygru::Precision::highest;
    if (name == "high") return anygru::Precision::high;
    if (name == "float16") return anygru::Precision::float16;
    if (name == "bfloat16") return anygru::Precision::bfloat16;
    refuse("precision must be highest, high, float16 or bfloat16, got " + name);
}

#define ANYGRU_NAME(name) #name,
constexpr const char* activation_names[] = {ANYGRU_ACTIVATIONS(ANYGRU_NAME)};

Activation activation_of(const std::string& name) {
    int place = 0;
    for (const char* one : activation_names) {
        if (name == one) return Activation(place);
        ++place;
    }
    refuse("there is no activation " + name);
}

// The weights of an int8 layer, whose matrices go as addresses of other elements, and its scales.
Stored* pack_int8(const Arguments& given, const anygru::Shape& shape) {
    const auto weights = given.list(keys::weights), scales = given.list(keys::scales);
    const int each = shape.weights_a_direction();
    const Index places = Index(shape.layers) * (shape.directions / shape.groups), rows = 3 * shape.hidden;
    if (Index(weights.size()) != places * each || Index(scales.size()) != places * 2)
        refuse("weights and scales must be " + std::to_string(places * each) + " and " + std::to_string(places * 2));
    // The matrices' bytes go as addresses of other elements.
    std::vector<const std::int8_t*> bytes(std::size_t(places * each * shape.groups));
    for (Index i = 0; i < places * each; ++i) {
        const nb::handle one(PyList_GET_ITEM(weights.ptr(), Py_ssize_t(i)));
        const Index numel = multiply({rows, width_of(shape, i, each)}, "weights"), all = numel * shape.groups;
        if (i % each < 2)
            anygru::spread(bytes, shape, i, each, tensor<const std::int8_t>(one, all, "weights"), numel);
        else
            anygru::spread(bytes, shape, i, each,
                           reinterpret_cast<const std::int8_t*>(tensor<const float>(one, all, "bias")),
                           numel * Index(sizeof(float)));
    }
    std::vector<const float*> matrices, factors(std::size_t(places * 2 * shape.groups));
    for (const std::int8_t* at : bytes) matrices.push_back(reinterpret_cast<const float*>(at));
    for (Index i = 0; i < places * 2; ++i)
        anygru::spread(factors, shape, i, 2,
                       tensor<const float>(nb::handle(PyList_GET_ITEM(scales.ptr(), Py_ssize_t(i))),
                                           rows * shape.groups, "scales"),
                       rows);
    return new StoredWeights<float>(anygru::pack<float>(shape, anygru::Storage::int8, matrices, factors));
}

template <class Real>
Stored* pack(const Arguments& given, const anygru::Shape& shape, anygru::Storage storage) {
    return new StoredWeights<Real>(
        anygru::pack<Real>(shape, storage, weight_list<Real>(shape, given.get(keys::weights)), {}));
}

Stored* pack(const Arguments& given) {
    const anygru::Shape shape = make_shape(given, given.number(keys::input_size), given.number(keys::layers));
    const anygru::Storage storage = storage_of(given.as<std::string>(keys::format, "a string"));
    const bool wide = is_double(given);
    if (wide && storage != anygru::Storage::full) refuse("bfloat16 and int8 weights go with float32");
    if (storage == anygru::Storage::int8) return pack_int8(given, shape);
    return wide ? pack<double>(given, shape, storage) : pack<float>(given, shape, storage);
}

// Matrices of a layer and direction into memory of `weight_bytes` an element.
template <class Real>
void unpack(const anygru::Packed<Real>& packed, Index place, const std::vector<nb::handle>& to) {
    const anygru::Shape& shape = packed.shape;
    if (place < 0 || place >= Index(packed.panels.size())) refuse("no such layer and direction");
    const bool scaled = packed.format->weight_bytes == 1;
    if (to.size() != (scaled ? 4u : 2u)) refuse("matrices and scales must have as many places");
    const Index width[2] = {shape.layer_input(int(place) / shape.directions), shape.hidden};
    char* matrices[2];
    float* scales[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
        const Index bytes = 3 * shape.hidden * width[i] * packed.format->weight_bytes;
        matrices[i] = tensor<char>(to[i], bytes, "matrix");
        if (scaled) scales[i] = tensor<float>(to[2 + i], 3 * shape.hidden, "scales");
    }
    anygru::unpack(packed, place, matrices[0], matrices[1], scales[0], scales[1]);
}

// Null where nothing is given.
template <class Real>
const Real* optional(nb::handle given, Index expected, const char* name) {
    return given.is_none() ? nullptr : tensor<const Real>(given, expected, name);
}

template <class Real>
anygru::LstmStep<Real> lstm_step(Index units, nb::handle c, nb::handle sums, nb::handle cells) {
    if (units < 0) refuse("units must not be negative");
    return {units, tensor<const Real>(c, units, "c"), tensor<const Real>(sums, multiply({units, 4}, "sums"), "sums"),
            tensor<Real>(cells, units, "cells")};
}

template <class Real>
void lstm(Index units, nb::handle c, nb::handle sums, nb::handle cells, nb::handle output) {
    anygru::LstmStep<Real> step = lstm_step<Real>(units, c, sums, cells);
    step.output = tensor<Real>(output, units, "output");
    nb::gil_scoped_release release;
    anygru::kernels().of<Real>().lstm(step);
}

template <class Real>
void lstm_gradients(Index units, nb::handle c, nb::handle sums, nb::handle cells, nb::handle grad_cells,
                    nb::handle grad_output, nb::handle grad_sums, nb::handle grad_c) {
    anygru::LstmStep<Real> step = lstm_step<Real>(units, c, sums, cells);
    step.grad_cells = optional<Real>(grad_cells, units, "grad_cells");
    step.grad_output = optional<Real>(grad_output, units, "grad_output");
    step.grad_sums = tensor<Real>(grad_sums, 4 * units, "grad_sums");
    step.grad_c = tensor<Real>(grad_c, units, "grad_c");
    nb::gil_scoped_release release;
    anygru::kernels().of<Real>().lstm_gradients(step);
}

template <class Real>
void draw_reals(anygru::Mersenne& stream, Real* out, Index count, bool normal, double first, double second) {
    normal ? anygru::draw_normal<Real>(stream, out, count, Real(first), Real(second))
           : anygru::draw_uniform<Real>(stream, out, count, Real(first), Real(second));
}

// `kind` is "words" (64 bits each), or "uniform" (from `first` to `second`) or "normal" (mean and deviation), followed
// by 32 or 64.
Index mersenne(nb::handle state, Index position, nb::handle out, Index count, const std::string& kind, double first,
               double second) {
    if (position < 0 || position > anygru::mersenne_words || count < 0) refuse("no such place in the state");
    anygru::Mersenne stream{tensor<std::uint64_t>(state, anygru::mersenne_words, "state"), position};
    const bool normal = kind.rfind("normal", 0) == 0;
    // Pairs of numbers are drawn until one fits.
    if (normal && anygru::stands_still(stream)) refuse("a state of zeros gives no normal numbers");
    if (kind == "words") {
        anygru::draw_words(stream, tensor<std::uint64_t>(out, count, "out"), count);
    } else if (kind == "uniform32" || kind == "normal32") {
        draw_reals(stream, tensor<float>(out, count, "out"), count, normal, first, second);
    } else if (kind == "uniform64" || kind == "normal64") {
        draw_reals(stream, tensor<double>(out, count, "out"), count, normal, first, second);
    } else {
        refuse("kind must be words, uniform32, uniform64, normal32 or normal64");
    }
    return stream.position;
}

}  // namespace

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // torch's compiler holds what it has seen to the end of the process
    anygru::remember_process(nb::cast<int>(nb::module_::import_("anygru").attr("_process")));
    m.attr("__doc__") = "The native kernels of anygru.";

    nb::class_<Stored>(m, "PackedWeights", "Weights in the order of the kernels, for a stream.");

    nb::class_<Kind>(m, "Kind", "What calls of one layer have in common.")
        .def(
            "__init__",
            [](Kind* self, bool bidirectional, bool bias, bool reset_before, bool reverse, bool norm,
               const std::string& precision, int groups, bool splits_input, const std::string& gates,
               const std::string& candidate) {
                if (bidirectional && reverse) refuse("reverse goes with one direction");
                if (groups < 1 || groups > 1 << 20) refuse("groups must be at least 1");
                new (self) Kind{bidirectional, bias,   reset_before, reverse, norm, precision_of(precision),
                                groups,        splits_input, {activation_of(gates), activation_of(candidate)}};
            },
            nb::arg("bidirectional"), nb::arg("bias"), nb::arg("reset_before"), nb::arg("reverse"),
            nb::arg("norm") = false, nb::arg("precision") = "highest", nb::arg("groups") = 1,
            nb::arg("splits_input") = false, nb::arg("gate_activation") = "sigmoid", nb::arg("activation") = "tanh")
        .def_ro("groups", &Kind::groups);

    m.def(
        "forward",
        [](nb::dict call) {
            const Arguments given(std::move(call));
            is_double(given) ? forward<double>(given) : forward<float>(given);
        },
        nb::arg("call"));

    m.def(
        "backward",
        [](nb::dict call) {
            const Arguments given(std::move(call));
            is_double(given) ? backward<double>(given) : backward<float>(given);
        },
        nb::arg("call"));

    m.def(
        "gradients",
        [](nb::dict call) {
            const Arguments given(std::move(call));
            is_double(given) ? gradients<double>(given) : gradients<float>(given);
        },
        nb::arg("call"));

    m.def(
        "pack", [](nb::dict call) { return pack(Arguments(std::move(call))); }, nb::rv_policy::take_ownership,
        nb::arg("call"));

    m.def(
        "unpack",
        [](const Stored& stored, Index place, nb::list to) {
            std::vector<nb::handle> places;
            for (nb::handle one : to) places.push_back(one);
            if (const auto* single = dynamic_cast<const StoredWeights<float>*>(&stored))
                unpack(*single->packed, place, places);
            else if (const auto* twice = dynamic_cast<const StoredWeights<double>*>(&stored))
                unpack(*twice->packed, place, places);
        },
        nb::arg("weights"), nb::arg("place"), nb::arg("to"));

    anygru::define_direct_calls(m);

    m.def(
        "set_tensor_types",
        [](nb::handle table, nb::handle tensor, nb::handle parameter) {
            if (!anygru::set_tensor_types(table.ptr(), tensor.ptr(), parameter.ptr())) throw nb::python_error();
            return anygru::reads_tensors();
        },
        nb::arg("table").none(), nb::arg("tensor"), nb::arg("parameter"));

    m.def(
        "sum_float32",
        [](nb::handle values, Index count) -> double {
            const float* at = tensor<const float>(values, count < 0 ? 0 : count, "values");
            nb::gil_scoped_release release;
            return anygru::kernels().single.sum(at, count);
        },
        nb::arg("values"), nb::arg("count"),
        "The sum of an array as one thread reads it fastest; programs in benchmarks/ time it.");

    m.def(
        "lstm",
        [](Index itemsize, Index units, nb::handle c, nb::handle sums, nb::handle cells, nb::handle output) {
            is_double(itemsize) ? lstm<double>(units, c, sums, cells, output)
                                : lstm<float>(units, c, sums, cells, output);
        },
        nb::arg("itemsize"), nb::arg("units"), nb::arg("c"), nb::arg("sums"), nb::arg("cells"), nb::arg("output"));

    m.def(
        "lstm_gradients",
        [](Index itemsize, Index units, nb::handle c, nb::handle sums, nb::handle cells, nb::handle grad_cells,
           nb::handle grad_output, nb::handle grad_sums, nb::handle grad_c) {
            is_double(itemsize)
                ? lstm_gradients<double>(units, c, sums, cells, grad_cells, grad_output, grad_sums, grad_c)
                : lstm_gradients<float>(units, c, sums, cells, grad_cells, grad_output, grad_sums, grad_c);
        },
        nb::arg("itemsize"), nb::arg("units"), nb::arg("c"), nb::arg("sums"), nb::arg("cells"),
        nb::arg("grad_cells").none(), nb::arg("grad_output").none(), nb::arg("grad_sums"), nb::arg("grad_c"));

    m.def("mersenne", &mersenne, nb::arg("state"), nb::arg("position"), nb::arg("out"), nb::arg("count"),
          nb::arg("kind"), nb::arg("first") = 0.0, nb::arg("second") = 0.0,
          "Draws from the state of a mt19937_64, which moves on, and gives the next position.");

    m.def("isa", [] { return anygru::frozen_kernels().name; }, "The instruction set in use.");
    m.def(
        "use", [](const std::string& name) { anygru::use_kernels(name.c_str()); },
        "Chooses an instruction set by name.");
    m.def(
        "variants",
        [] {
            nb::list names;
            for (const char* const* name = anygru::executable_variants(); *name; ++name) names.append(*name);
            return names;
        },
        "Instruction sets that this CPU executes, best first.");
    m.def(
        "frozen_variants",
        [] {
            nb::list names;
            for (const char* const* name = anygru::executable_frozen(); *name; ++name) names.append(*name);
            return names;
        },
        "Instruction sets for frozen layers that this CPU executes, best first; some have more than one of "
        "`variants`.");
    m.def(
        "precisions",
        [] {
            nb::list names;
            if (anygru::frozen_kernels().high.forward) names.append("high");
            if (anygru::frozen_kernels().twice.forward) names.append("float16");
            if (anygru::frozen_kernels().once.forward) names.append("bfloat16");
            return names;
        },
        "Precisions below \"highest\" that the instruction set in use has kernels for.");
    m.def("why_no_tiles", &anygru::why_no_tiles, nb::arg("assume_unit") = false,
          "Why no matrix unit is used, or an empty string. assume_unit: as on a CPU that has one, for tests.");
    m.def("thread_pool", &anygru::thread_pool, "Whose threads compute: \"openmp\" (PyTorch's) or \"own\".");
}
