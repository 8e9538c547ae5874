# A room is a folder whose sources form one library target.
#
#   highwater_room(workloads/nn LINK workloads/eager workloads/plan/pipeline)
#
# defines the target highwater_workloads_nn from every source in workloads/nn. LINK names the rooms
# that it includes, all of them and no others, and further targets; DEFINED_BY those that define what
# a header further down declares, such as the forward of a family. The rooms and their
# links are written to rooms.txt in the build folder for check_rooms.py (tools/python/checks), on
# which every room depends: a wrong include fails the build with its line.
#
# A room compiles as one translation unit with a shared precompiled header: nine tenths of a
# source's compile time were the standard library's and Boost's headers. -DHIGHWATER_UNITY=OFF
# compiles each source by itself, as clang-tidy needs it. SEPARATE does so for a room whose sources
# name their private functions alike on purpose.

set_property(GLOBAL PROPERTY HIGHWATER_ROOMS "")

# The precompiled header under the options that follow, compiled once, for highwater_compile_quickly.
# With the warnings: GCC refuses a header that was compiled without -Wpedantic.
function(highwater_precompile name)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/tools/build/precompiled.cpp)
  target_link_libraries(${name} PRIVATE highwater_warnings highwater_libraries)
  target_compile_options(${name} PRIVATE ${ARGN})
  if(HIGHWATER_UNITY)
    target_precompile_headers(${name} PRIVATE
      ${PROJECT_SOURCE_DIR}/tools/build/precompiled.hpp)
  endif()
endfunction()

highwater_precompile(highwater_precompiled)
if(HIGHWATER_UNOPTIMISED_TOOLS)
  highwater_precompile(highwater_precompiled_unoptimised -O0)
endif()

# All sources of `target` become one translation unit, unless what follows says SEPARATE.
function(highwater_compile_quickly target)
  set(precompiled highwater_precompiled)
  if(HIGHWATER_UNOPTIMISED_TOOLS AND target MATCHES "^highwater_tools_")
    set(precompiled highwater_precompiled_unoptimised)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(HIGHWATER_UNITY)
    if(NOT "SEPARATE" IN_LIST ARGN)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# The target's name of a room's path.
function(highwater_room_target path result)
  string(REPLACE "/" "_" name "highwater_${path}")
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Links `target` to rooms (paths) and libraries (names with ::, or of other targets).
function(highwater_link target)
  foreach(item IN LISTS ARGN)
    if(item MATCHES "^(traces|allocator|sim|workloads|tools)(/|$)")
      highwater_room_target(${item} item)
    endif()
    target_link_libraries(${target} PUBLIC ${item})
  endforeach()
endfunction()

function(highwater_room path)
  cmake_parse_arguments(ARG "SEPARATE" "" "LINK;DEFINED_BY" ${ARGN})
  highwater_room_target(${path} name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE highwater_warnings highwater_libraries)
  highwater_link(${name} ${ARG_LINK} ${ARG_DEFINED_BY})
  if(ARG_SEPARATE)
    highwater_compile_quickly(${name} SEPARATE)
  else()
    highwater_compile_quickly(${name})
  endif()
  add_dependencies(${name} highwater_check_rooms)
  string(REPLACE ";" " " links "${ARG_LINK}")
  set_property(GLOBAL APPEND PROPERTY HIGHWATER_ROOMS "${path}: ${links}")
endfunction()

# All rooms of one layer behind one name, for tests and the benchmark: highwater_layer(sim ROOM...).
function(highwater_layer name)
  add_library(highwater_${name}_layer INTERFACE)
  foreach(path IN LISTS ARGN)
    highwater_room_target(${path} target)
    target_link_libraries(highwater_${name}_layer INTERFACE ${target})
  endforeach()
endfunction()

find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SYSTEM_PYTHON python3)
add_custom_target(highwater_check_rooms)

# Writes the rooms and makes every room wait for the check of the includes.
function(highwater_write_rooms)
  get_property(rooms GLOBAL PROPERTY HIGHWATER_ROOMS)
  list(JOIN rooms "\n" text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/rooms.txt CONTENT "${text}\n" @ONLY)
  add_custom_command(TARGET highwater_check_rooms
    COMMAND ${SYSTEM_PYTHON} ${PROJECT_SOURCE_DIR}/tools/python/checks/check_rooms.py
            ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/rooms.txt
    COMMENT "Checking that includes follow the links between rooms"
    VERBATIM)
endfunction()
