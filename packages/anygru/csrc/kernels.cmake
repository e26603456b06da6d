# The kernels without the Python module: ANYGRU_KERNEL_SOURCES, each variant with the flags of its instruction set.
set(ANYGRU_CSRC ${CMAKE_CURRENT_LIST_DIR})
set(ANYGRU_KERNEL_SOURCES ${ANYGRU_CSRC}/engine.cpp ${ANYGRU_CSRC}/packing.cpp ${ANYGRU_CSRC}/threads.cpp
    ${ANYGRU_CSRC}/dispatch.cpp ${ANYGRU_CSRC}/mersenne.cpp)
set_source_files_properties(${ANYGRU_CSRC}/mersenne.cpp PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")

# kind: variant, or frozen for the kernels of frozen layers.
function(anygru_add kind name)
  set(source ${ANYGRU_CSRC}/${kind}_${name}.cpp)
  # The bits of a result must not depend on what the compiler chooses to fuse; nanobind's size-minded flags are undone.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off;${ARGN}")
  set(ANYGRU_KERNEL_SOURCES ${ANYGRU_KERNEL_SOURCES} ${source} PARENT_SCOPE)
endfunction()

macro(anygru_add_variant name)
  anygru_add(variant ${name} ${ARGN})
  anygru_add(frozen ${name} ${ARGN})
endmacro()

if(CMAKE_OSX_ARCHITECTURES)
  set(ANYGRU_PROCESSOR ${CMAKE_OSX_ARCHITECTURES})
else()
  set(ANYGRU_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR})
endif()
if(ANYGRU_PROCESSOR MATCHES "x86_64|AMD64")
  anygru_add_variant(baseline)
  anygru_add_variant(avx2 -mavx2 -mfma)
  anygru_add_variant(wide -mavx2 -mfma -Wno-psabi)
  set(ANYGRU_AVX512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mprefer-vector-width=512)
  anygru_add_variant(avx512 ${ANYGRU_AVX512})
  anygru_add(frozen avx_vnni -mavx2 -mfma -mavxvnni)
  anygru_add(frozen avx512_vnni ${ANYGRU_AVX512} -mavx512vnni)
elseif(ANYGRU_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  anygru_add_variant(neon)
  anygru_add(frozen neon_dot -march=armv8.2-a+dotprod)
else()
  anygru_add_variant(baseline)
endif()
