# The module itself: _native, and links to the sources beside it.
set(PYBIND11_FINDPYTHON ON)
if(NOT SKBUILD)
  set(Python_EXECUTABLE ${SYSTEM_PYTHON})  # which runs the tests
endif()
find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
find_package(pybind11 2.10 CONFIG)
if(NOT Python_FOUND OR NOT pybind11_FOUND)
  if(SKBUILD)
    message(FATAL_ERROR "the wheel needs the headers of Python (Debian: python3-dev)")
  endif()
  message(STATUS "no python3-dev or pybind11-dev: the Python module and its tests are left out")
  return()
endif()

pybind11_add_module(highwater_native MODULE NO_EXTRAS native.cpp)
target_link_libraries(highwater_native PRIVATE
  highwater_tools_library highwater_libraries highwater_warnings)
target_compile_definitions(highwater_native PRIVATE HIGHWATER_VERSION="${PROJECT_VERSION}")
# Nothing but the module's entry is seen outside, so that it never meets another library's Boost.
target_link_options(highwater_native PRIVATE -Wl,--exclude-libs,ALL)
highwater_shipped(highwater_native)
set_target_properties(highwater_native PROPERTIES
  OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${package})
add_dependencies(highwater_native highwater_package)
set_target_properties(highwater_pages PROPERTIES EXCLUDE_FROM_ALL OFF)  # the tests read them

# Links, so that an edit is seen without a build.
foreach(source IN LISTS sources)
  get_filename_component(folder ${package}/${source} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/highwater/${source} ${package}/${source} SYMBOLIC)
endforeach()

# scikit-build-core's install prefix is the folder that holds all packages.
install(TARGETS highwater_native DESTINATION highwater COMPONENT python)
install(DIRECTORY highwater DESTINATION . COMPONENT python
  FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${package}/results DESTINATION highwater COMPONENT python
  FILES_MATCHING PATTERN *.py
  PATTERN __pycache__ EXCLUDE)
install(FILES ${of_options} DESTINATION highwater COMPONENT python)
if(SKBUILD)
  install(TARGETS highwater DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()
