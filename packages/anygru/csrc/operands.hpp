// What the files of the native module share: operands that are checked before any pointer is touched, and packed
// weights.
#pragma once

#include <nanobind/nanobind.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "engine.hpp"
#include "tensors.hpp"

namespace anygru {

namespace nb = nanobind;

[[noreturn]] inline void refuse(const std::string& what) { throw std::invalid_argument("native kernel: " + what); }

// The same for something of another type than an argument has.
[[noreturn]] inline void refuse_type(const std::string& what, nb::handle given) {
    throw nb::type_error(("native kernel: " + what + ", got " + nb::type_name(given.type()).c_str()).c_str());
}

inline Index whole_number(nb::handle given, const char* name) {
    if (!PyLong_Check(given.ptr())) refuse_type(std::string(name) + " must be a whole number", given);
    const Py_ssize_t value = PyLong_AsSsize_t(given.ptr());
    if (value != -1 || !PyErr_Occurred()) return value;
    PyErr_Clear();
    refuse(std::string(name) + " does not fit in 64 bits");
}

// The product of factors that are not negative, refused where it would not fit in 64 bits.
inline Index multiply(std::initializer_list<Index> factors, const char* name) {
    Index result = 1;
    for (Index factor : factors)
        if (__builtin_mul_overflow(result, factor, &result) || result > std::numeric_limits<Index>::max() / 16)
            refuse(std::string(name) + " is too large to address");
    return result;
}

// A tensor: its address and how many bytes lie there.
struct Operand {
    std::uintptr_t address;
    Index bytes;
    int bits;  // of an element; 0: not told
};

inline Operand operand(nb::handle given, const char* name) {
    TensorView view;
    if (view_of(given.ptr(), view)) {
        if (!view.contiguous()) refuse(std::string(name) + " must be contiguous");
        return {reinterpret_cast<std::uintptr_t>(view.at<char>()), view.numel() * (view.bits / 8), view.bits};
    }
    if (!PyTuple_CheckExact(given.ptr()) || PyTuple_GET_SIZE(given.ptr()) != 2)
        refuse_type(std::string(name) + " must be a plain CPU tensor of a float type or (address, bytes)", given);
    const Index address = whole_number(PyTuple_GET_ITEM(given.ptr(), 0), name);
    if (address < 0) refuse(std::string(name) + " has a negative address");
    return {std::uintptr_t(address), whole_number(PyTuple_GET_ITEM(given.ptr(), 1), name), 0};
}

template <class Real>
Real* tensor(const Operand& given, Index expected, const char* name) {
    const Index bytes = multiply({expected, Index(sizeof(Real))}, name);
    if (given.bits && (given.bits != 8 * sizeof(Real) || !std::is_floating_point_v<Real>))
        refuse(std::string(name) + " has elements of another type");
    if (given.bytes != bytes)
        refuse(std::string(name) + " must have " + std::to_string(bytes) + " bytes, got " +
               std::to_string(given.bytes));
    if (expected == 0) return nullptr;
    if (given.address == 0) refuse(std::string(name) + " has no memory");
    if (given.address % alignof(Real)) refuse(std::string(name) + " is not aligned to its element size");
    return reinterpret_cast<Real*>(given.address);
}

template <class Real>
Real* tensor(nb::handle given, Index expected, const char* name) {
    return tensor<Real>(operand(given, name), expected, name);
}

// What calls of one layer have in common.
struct Kind {
    bool bidirectional, bias, reset_before, reverse, norm;
    Precision precision;
    int groups;
    bool splits_input;
    Activations activations;

    // What a shape has from it.
    void describe(Shape& shape) const {
        shape.directions = (bidirectional ? 2 : 1) * groups;
        shape.bias = bias;
        shape.norm = norm;
        shape.reset_before = reset_before;
        shape.reverse = reverse;
        shape.precision = precision;
        shape.activations = activations;
        shape.groups = groups;
        shape.splits_input = splits_input;
    }
};

// Puts tensor number `i` of a list into `places`, which have the tensors of every group for themselves; `numel`: the
// elements of one group's part.
template <class Value>
void spread(std::vector<const Value*>& places, const Shape& shape, Index i, Index each, const Value* tensor,
            Index numel) {
    for (Index group = 0; group < shape.groups; ++group)
        places[std::size_t((i / each * shape.groups + group) * each + i % each)] = tensor + group * numel;
}

// Each layer and direction of each group has places of its own in lists and memory that are made before any of them is
// looked at.
inline void check_places(const Shape& shape) {
    if (Index(shape.layers) * shape.directions > 1 << 24) refuse("there are too many layers and groups");
}

inline int thread_count(Index threads) {
    if (threads < 1) refuse("threads must be at least 1");
    return int(threads < 1024 ? threads : 1024);
}

struct Stored {
    virtual ~Stored() = default;
};

template <class Real>
struct StoredWeights : Stored {
    explicit StoredWeights(Packed<Real>* weights) : packed(weights) {}
    std::unique_ptr<Packed<Real>> packed;
};

inline bool same_weights(const Shape& a, const Shape& b) {
    return a.input_size == b.input_size && a.hidden == b.hidden && a.layers == b.layers &&
           a.directions == b.directions && a.bias == b.bias && a.norm == b.norm && a.reset_before == b.reset_before &&
           a.groups == b.groups && a.splits_input == b.splits_input;
}

// Weights packed before, if they belong to this layer and to these kernels.
template <class Real>
const Packed<Real>* fitting(nb::handle weights, const Shape& shape) {
    const auto* stored = dynamic_cast<const StoredWeights<Real>*>(&nb::cast<const Stored&>(weights));
    if (!stored) refuse("packed weights have another dtype than the input");
    if (!same_weights(stored->packed->shape, shape)) refuse("packed weights were made for another layer");
    if (stored->packed->variant != variant_in_use()) refuse("packed weights were made for another instruction set");
    return stored->packed.get();
}

// Adds `dense` and `advance` to the module.
void define_direct_calls(nb::module_& m);

}  // namespace anygru
