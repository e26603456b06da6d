// Tensors of PyTorch, read without its headers: by the table of C functions that DLPack defines for this (dlpack.h 1.3,
// `__dlpack_c_exchange_api__`), where this PyTorch has it. A Python call for each address and size would take longer
// than a step of a small GRU.
#pragma once

#include <Python.h>

#include <cstdint>

#ifdef Py_LIMITED_API  // the stable ABI, of which one wheel serves every Python from 3.12, has functions for these
                       // macros
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_GET_SIZE PyTuple_Size
#define PyList_GET_ITEM PyList_GetItem
#define PySequence_Fast_GET_SIZE PySequence_Size
#endif

namespace anygru {

// DLPack's DLTensor.
struct TensorView {
    void* data;
    std::int32_t device_type, device_number;
    std::int32_t dimensions;
    std::uint8_t type_code, bits;
    std::uint16_t lanes;
    std::int64_t* shape;
    std::int64_t* strides;  // in elements
    std::uint64_t byte_offset;

    bool is(std::int64_t a) const { return dimensions == 1 && shape[0] == a; }
    bool is(std::int64_t a, std::int64_t b) const { return dimensions == 2 && shape[0] == a && shape[1] == b; }
    bool is(std::int64_t a, std::int64_t b, std::int64_t c) const {
        return dimensions == 3 && shape[0] == a && shape[1] == b && shape[2] == c;
    }
    bool contiguous() const {
        if (numel() == 0) return true;
        std::int64_t expected = 1;
        for (std::int32_t i = dimensions - 1; i >= 0; expected *= shape[i--])
            if (shape[i] != 1 && strides[i] != expected) return false;
        return true;
    }
    std::int64_t numel() const {
        std::int64_t count = 1;
        for (std::int32_t i = 0; i < dimensions; ++i) count *= shape[i];
        return count;
    }
    template <class Real>
    Real* at() const {
        return reinterpret_cast<Real*>(static_cast<char*>(data) + byte_offset);
    }
};

// Which objects are plain tensors: exactly these types, since a subclass may hold something else.
// table: the capsule; none, or one of another major version than 1, where no tensor can be read.
// Raises (false, with a Python error set) for a capsule that is none of DLPack's.
bool set_tensor_types(PyObject* table, PyObject* tensor, PyObject* parameter);

// Whether there is a table to read tensors with.
bool reads_tensors();

// Whether `object` is a tensor in this process's memory, of float32, float64 or bfloat16 (16 bits) at their own
// alignment, that means what its memory says. The view lives as long as the object is not changed.
bool view_of(PyObject* object, TensorView& view);

// The same for a tensor that cannot be the negative of its memory, as one that was just allocated: Python is not asked.
bool view_of_new(PyObject* object, TensorView& view);

}  // namespace anygru
