#include "tensors.hpp"

namespace anygru {

namespace {

// DLPack's DLPackExchangeAPI; the functions that are not used here stand as plain addresses.
struct ExchangeTable {
    std::uint32_t major, minor;
    void* older;
    void* allocate;
    void* take;
    void* give;
    int (*look)(void* object, TensorView* view);
    void* stream;
};

const ExchangeTable* table = nullptr;
PyTypeObject* plain[2];
PyObject* is_neg;

constexpr std::int32_t cpu = 1;
constexpr std::uint8_t floating = 2, bfloat = 4;

}  // namespace

bool set_tensor_types(PyObject* capsule, PyObject* tensor, PyObject* parameter) {
    table = nullptr;
    if (capsule == Py_None) return true;
    const auto* found = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
    if (!found) return false;
    if (found->major != 1) return true;  // its functions may be others
    if (!is_neg && !(is_neg = PyUnicode_InternFromString("is_neg"))) return false;
    PyObject* const given[2] = {tensor, parameter};
    for (int i = 0; i < 2; ++i) {
        if (!PyType_Check(given[i])) {
            PyErr_SetString(PyExc_TypeError, "types of tensors are needed");
            return false;
        }
        Py_INCREF(given[i]);  // kept for good: types that are compared with must not die
        plain[i] = reinterpret_cast<PyTypeObject*>(given[i]);
    }
    table = found->look ? found : nullptr;
    return true;
}

bool reads_tensors() { return table != nullptr; }

bool view_of_new(PyObject* object, TensorView& view) {
    if (!table || (Py_TYPE(object) != plain[0] && Py_TYPE(object) != plain[1])) return false;
    if (table->look(object, &view) != 0) {
        PyErr_Clear();  // sparse, quantized, ...: the general way tells what is wrong with it
        return false;
    }
    const bool full = view.type_code == floating && (view.bits == 32 || view.bits == 64);
    const bool half = view.type_code == bfloat && view.bits == 16;
    if (view.device_type != cpu || view.lanes != 1 || !(full || half)) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset;
    return (view.data || !view.numel()) && address % (view.bits / 8) == 0;
}

bool view_of(PyObject* object, TensorView& view) {
    if (!view_of_new(object, view)) return false;
    // A tensor may stand for the negative of its memory, which DLPack has no word for.
    PyObject* negative = PyObject_VectorcallMethod(is_neg, &object, 1, nullptr);
    if (!negative) PyErr_Clear();
    Py_XDECREF(negative);
    return negative == Py_False;
}

}  // namespace anygru
