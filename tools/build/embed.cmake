# Files inside the program.
#
#   highwater_embed(highwater_facts_files embedded_facts workloads/facts/facts.hpp
#     "gpus.json=${folder}/gpus.json" ...)
#
# defines the library highwater_facts_files with the function embedded_facts(), which that header
# declares as returning std::span<const EmbeddedFile> (traces/embedded_file.hpp).
#
# Each file's bytes become an array by the assembler's .incbin: megabytes of C++ text would take the
# compiler minutes.

function(highwater_embed target function header)
  set(table "")
  set(blobs "")
  set(depends "")
  set(count 0)
  foreach(entry IN LISTS ARGN)
    string(REGEX MATCH "^([^=]*)=(.*)$" _ "${entry}")
    set(symbol ${function}_${count})
    string(APPEND blobs "EMBED(${symbol}, \"${CMAKE_MATCH_2}\")\n")
    string(APPEND table "      {\"${CMAKE_MATCH_1}\", {${symbol}, ${symbol}_end}},\n")
    list(APPEND depends "${CMAKE_MATCH_2}")
    math(EXPR count "${count} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/tools/build/embedded_files.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${depends}")
  add_library(${target} STATIC ${source})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  # Link-time optimisation loses what the assembler defines.
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()
