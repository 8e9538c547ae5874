# The libraries of Debian that this project links to: highwater_libraries everywhere, the others where
# their comments say. HIGHWATER_STATIC links archives, for a wheel that runs on any Linux;
# tests/tools/python/module/static links them into a shared library, as the wheel's module does.

set(Boost_USE_STATIC_LIBS ${HIGHWATER_STATIC})
find_package(Boost 1.81 REQUIRED COMPONENTS program_options json iostreams)
find_package(fmt 9 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)

# Every target compiles with the same definitions of these, so that all share a precompiled header.
# Which room may include the parser of options is the business of tools/python/checks/check_rooms.py.
add_library(highwater_libraries INTERFACE)
target_link_libraries(highwater_libraries INTERFACE
  Boost::headers Boost::json Boost::iostreams Boost::program_options)
if(HIGHWATER_STATIC)
  # Debian has fmt as a shared library only. Boost names what it decompresses with, -lz and so on,
  # which leads to shared libraries.
  target_link_libraries(highwater_libraries INTERFACE fmt::fmt-header-only)
  set(archives "")
  foreach(name z lzma zstd)
    find_library(HIGHWATER_ARCHIVE_${name} lib${name}.a REQUIRED)
    list(APPEND archives ${HIGHWATER_ARCHIVE_${name}})
  endforeach()
  add_library(highwater_no_bzip2 STATIC ${CMAKE_CURRENT_LIST_DIR}/no_bzip2.cpp)
  set_target_properties(highwater_no_bzip2 PROPERTIES POSITION_INDEPENDENT_CODE ON)
  list(APPEND archives highwater_no_bzip2)
  get_target_property(needed Boost::iostreams INTERFACE_LINK_LIBRARIES)
  list(FILTER needed INCLUDE REGEX "::")
  set_target_properties(Boost::iostreams PROPERTIES INTERFACE_LINK_LIBRARIES "${needed};${archives}")
  # libgcc stays shared: every Linux has libgcc_s, and the archive of GCC 12 needs glibc 2.35.
  add_link_options(-static-libstdc++)
  foreach(part old_glibc old_glibc_program)
    add_library(highwater_${part} OBJECT ${CMAKE_CURRENT_LIST_DIR}/${part}.cpp)
    set_target_properties(highwater_${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(highwater_${part} PRIVATE -ffunction-sections -fdata-sections)
  endforeach()
else()
  target_link_libraries(highwater_libraries INTERFACE fmt::fmt)
endif()

# Only the readers of configuration files link to this.
add_library(highwater_config_formats INTERFACE)
if(HIGHWATER_STATIC)
  # toml++ is its headers alone unless its target says otherwise, and Debian's does.
  find_library(HIGHWATER_ARCHIVE_yaml libyaml-cpp.a REQUIRED)
  target_link_libraries(highwater_config_formats INTERFACE ${HIGHWATER_ARCHIVE_yaml})
else()
  target_link_libraries(highwater_config_formats INTERFACE yaml-cpp tomlplusplus::tomlplusplus)
endif()

# Only the reader of archives links to this.
add_library(highwater_archives INTERFACE)
if(HIGHWATER_STATIC)
  # nettle: what libarchive decrypts with, which its readers of .zip refer to.
  foreach(name archive nettle)
    find_library(HIGHWATER_ARCHIVE_${name} lib${name}.a REQUIRED)
    target_link_libraries(highwater_archives INTERFACE ${HIGHWATER_ARCHIVE_${name}})
  endforeach()
  target_link_libraries(highwater_archives INTERFACE ${archives})
  find_library(HIGHWATER_ARCHIVE_sqlite3 libsqlite3.a REQUIRED)
else()
  find_package(LibArchive REQUIRED)
  target_link_libraries(highwater_archives INTERFACE LibArchive::LibArchive)
  find_package(SQLite3 REQUIRED)
endif()
# Only the database of a scan links to this.
add_library(highwater_sqlite INTERFACE)
if(HIGHWATER_STATIC)
  target_link_libraries(highwater_sqlite INTERFACE ${HIGHWATER_ARCHIVE_sqlite3} m)
else()
  target_link_libraries(highwater_sqlite INTERFACE SQLite::SQLite3)
endif()

# A program or library that the wheel ships: it starts under glibc 2.28, where libpthread and libdl are
# libraries of their own. What it does not use of old_glibc.cpp is left out.
function(highwater_shipped target)
  if(NOT HIGHWATER_STATIC)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:highwater_old_glibc>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:highwater_old_glibc_program>)
  endif()
  target_link_options(${target} PRIVATE -Wl,--gc-sections
    -Wl,--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state)
endfunction()
