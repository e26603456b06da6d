// The arguments of a native call: one dict, read by name. A tensor comes as itself, or as (address, bytes).
#pragma once

#include "operands.hpp"

namespace anygru {

// The name of an argument, made into a Python string once.
struct Key {
    explicit Key(const char* text) : name(text), word(PyUnicode_InternFromString(text)) {}
    const char* name;
    PyObject* word;
};

// Refuses what is missing, has a wrong size, or is None where it must not be. An optional argument may be left out.
class Arguments {
public:
    explicit Arguments(nb::dict given) : given_(std::move(given)) {}

    // The argument, or a null handle.
    nb::handle find(const Key& key) const {
        PyObject* found = PyDict_GetItemWithError(given_.ptr(), key.word);
        if (!found && PyErr_Occurred()) throw nb::python_error();
        return found == Py_None ? nb::handle() : nb::handle(found);
    }

    nb::handle get(const Key& key) const {
        const nb::handle found = find(key);
        if (!found.is_valid()) refuse(std::string(key.name) + " is missing");
        return found;
    }

    Index number(const Key& key) const { return whole_number(get(key), key.name); }

    // 0 where it is left out.
    double real(const Key& key) const {
        const nb::handle found = find(key);
        const double value = found.is_valid() ? PyFloat_AsDouble(found.ptr()) : 0;
        if (value != -1 || !PyErr_Occurred()) return value;
        PyErr_Clear();
        refuse_type(std::string(key.name) + " must be a number", found);
    }

    bool flag(const Key& key) const { return get(key).ptr() == Py_True; }

    // The argument as a C++ type, or a Python type of nanobind's; `what`: in the words of an error.
    template <class Type>
    Type as(const Key& key, const char* what) const {
        const nb::handle given = get(key);
        if constexpr (std::is_pointer_v<Type> || std::is_base_of_v<nb::object, Type>) {
            if (nb::isinstance<std::remove_cv_t<std::remove_pointer_t<Type>>>(given)) return nb::cast<Type>(given);
        } else {
            Type found;
            if (nb::try_cast(given, found)) return found;
        }
        refuse_type(std::string(key.name) + " must be " + what, given);
    }

    const Kind& kind() const;

    nb::list list(const Key& key) const { return as<nb::list>(key, "a list"); }

    template <class Real>
    Real* tensor(const Key& key, Index expected) const {
        return anygru::tensor<Real>(get(key), expected, key.name);
    }

    // Null where it is left out.
    template <class Real>
    Real* optional_tensor(const Key& key, Index expected) const {
        const nb::handle found = find(key);
        return found.is_valid() ? anygru::tensor<Real>(found, expected, key.name) : nullptr;
    }

private:
    nb::dict given_;
};

namespace keys {

inline const Key adds("adds"), adds_input("adds_input"), batch("batch"), bias_hh_gradient("bias_hh_gradient"),
    bias_ih_gradient("bias_ih_gradient"), clipping("clipping"), format("format"), gains("gains"), gates("gates"),
    gives_gates("gives_gates"),
    grad_decay("grad_decay"), grad_gates("grad_gates"), grad_h_0("grad_h_0"), grad_h_n("grad_h_n"),
    grad_offset("grad_offset"), grad_output("grad_output"), grad_norms("grad_norms"),
    grad_row_stride("grad_row_stride"), grad_step_stride("grad_step_stride"), h_0("h_0"), h_n("h_n"), hidden("hidden"),
    input("input"), input_gradient("input_gradient"), input_size("input_size"), itemsize("itemsize"), kept("kept"),
    kind("kind"), layers("layers"), mask("mask"), needs("needs"), norm_kept("norm_kept"), output("output"),
    output_row_stride("output_row_stride"), output_step_stride("output_step_stride"), previous("previous"),
    reserve("reserve"), row_stride("row_stride"), rows("rows"), sizes("batch_sizes"), scales("scales"),
    step_stride("step_stride"), steps("steps"), threads("threads"), weight_hh_gradient("weight_hh_gradient"),
    weight_ih("weight_ih"), weight_ih_gradient("weight_ih_gradient"), weights("weights"), weights_hh("weights_hh");

// A tensor of factors, how many states it is for (1: one for all), and its values a row.
struct FactorKeys {
    const Key data, states, width;
};

inline const FactorKeys decay{Key("decay"), Key("decay_states"), Key("decay_width")},
    candidate{Key("candidate"), Key("candidate_states"), Key("candidate_width")},
    zoneout{Key("zoneout"), Key("zoneout_states"), Key("zoneout_width")},
    offset{Key("offset"), Key("offset_states"), Key("offset_width")};

}  // namespace keys

inline const Kind& Arguments::kind() const { return *as<const Kind*>(keys::kind, "a Kind"); }

template <class Real>
StateFactors<Real> factors(const Arguments& given, const Shape& shape, const keys::FactorKeys& which) {
    if (!given.find(which.data).is_valid()) return {};
    const std::string name = which.data.name;
    const Index states = Index(shape.layers) * shape.directions;
    const Index given_states = given.number(which.states), width = given.number(which.width);
    if (given_states != 1 && given_states != states) refuse(name + " must be one for all states or one for each");
    if (width != 0 && width != 1 && width != shape.hidden) refuse(name + " must have 0, 1 or H values a row");
    const Index count = width ? multiply({given_states, shape.rows, width}, which.data.name) : 1;
    return {given.tensor<const Real>(which.data, count), width, given_states == 1};
}

template <class Real>
StateModifiers<Real> modifiers(const Arguments& given, const Shape& shape) {
    const Index states = multiply({shape.layers, shape.directions, shape.batch, shape.hidden}, "mask");
    const StateModifiers<Real> found = {
        factors<Real>(given, shape, keys::decay), factors<Real>(given, shape, keys::candidate),
        factors<Real>(given, shape, keys::zoneout), given.optional_tensor<const Real>(keys::mask, states),
        factors<Real>(given, shape, keys::offset)};
    if (found.offset.data && !found.decay.data) refuse("offset needs a decay");
    return found;
}

}  // namespace anygru
