# The kernels without the Python module: ANYGRU_KERNEL_SOURCES, each variant with the flags of its instruction set.
set(ANYGRU_CSRC ${CMAKE_CURRENT_LIST_DIR})
set(ANYGRU_KERNEL_SOURCES ${ANYGRU_CSRC}/engine.cpp ${ANYGRU_CSRC}/packing.cpp ${ANYGRU_CSRC}/threads.cpp
    ${ANYGRU_CSRC}/dispatch.cpp ${ANYGRU_CSRC}/mersenne.cpp)
if(NOT ANYGRU_OPTIMIZATION)
  set(ANYGRU_OPTIMIZATION -O3)
endif()
set_source_files_properties(${ANYGRU_CSRC}/mersenne.cpp PROPERTIES
  COMPILE_OPTIONS "${ANYGRU_OPTIMIZATION};-ffp-contract=off")

# kind: variant, or frozen for the kernels of frozen layers.
function(anygru_add kind name)
  set(source ${ANYGRU_CSRC}/${kind}_${name}.cpp)
  # The bits of a result must not depend on what the compiler chooses to fuse; nanobind's size-minded flags are undone.
  set_source_files_properties(${source} PROPERTIES
    COMPILE_OPTIONS "${ANYGRU_OPTIMIZATION};-ffp-contract=off;${ARGN}")
  set(ANYGRU_KERNEL_SOURCES ${ANYGRU_KERNEL_SOURCES} ${source} PARENT_SCOPE)
endfunction()

if(CMAKE_OSX_ARCHITECTURES)
  set(ANYGRU_PROCESSOR ${CMAKE_OSX_ARCHITECTURES})
else()
  set(ANYGRU_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR})
endif()
if(ANYGRU_SETS)
  # named by who builds
elseif(ANYGRU_PROCESSOR MATCHES "x86_64|AMD64")
  set(ANYGRU_SETS ${ANYGRU_CSRC}/variants_x86.def)
elseif(ANYGRU_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(ANYGRU_SETS ${ANYGRU_CSRC}/variants_arm.def)
else()
  set(ANYGRU_SETS ${ANYGRU_CSRC}/variants_other.def)
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ANYGRU_SETS})

file(STRINGS ${ANYGRU_SETS} rows REGEX "^ANYGRU_(FROZEN_)?SET\\(")
option(ANYGRU_TEST_SETS "build the kernels that only tests name, a third of the module" ON)
if(NOT ANYGRU_TEST_SETS)
  list(FILTER rows EXCLUDE REGEX "\\((wide|tiles),")
  set_source_files_properties(${ANYGRU_CSRC}/dispatch.cpp PROPERTIES COMPILE_DEFINITIONS ANYGRU_NO_TEST_SETS)
endif()
foreach(row IN LISTS rows)
  string(REGEX MATCH "^ANYGRU_(FROZEN_)?SET\\(([a-z0-9_]+),.*\"([^\"]*)\"\\)$" found "${row}")
  string(REPLACE " " ";" flags "${CMAKE_MATCH_3}")
  set(name ${CMAKE_MATCH_2})
  if(row MATCHES "^ANYGRU_SET")
    anygru_add(variant ${name} ${flags})
  endif()
  anygru_add(frozen ${name} ${flags})
endforeach()
