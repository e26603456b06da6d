#include <nanobind/nanobind.h>

NB_MODULE(_native, m) { m.attr("__doc__") = "The native kernels of grus."; }
