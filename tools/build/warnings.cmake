# The warnings that all of this project's own code compiles without.
add_library(highwater_warnings INTERFACE)
target_compile_options(highwater_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wno-missing-field-initializers  # designated initialisers leave defaulted members out on purpose
  # GCC 12 takes the raw storage of boost::container::static_vector for uninitialized when it copies.
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wsuggest-override -Wno-maybe-uninitialized>
  # Optimised, GCC 12 takes impossible lengths of std::string for possible ones (GCC bugs 105329, 105651).
  $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:
    -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>
  $<$<BOOL:${HIGHWATER_WARNINGS_AS_ERRORS}>:-Werror>)
