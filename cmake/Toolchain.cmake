# Compiler, linker and sanitizer settings that every target of ours takes through tidemark::options.
add_library(tidemark_options INTERFACE)
add_library(tidemark::options ALIAS tidemark_options)
target_include_directories(tidemark_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(tidemark_options INTERFACE
  -Wall -Wextra -Wpedantic
  # In files that are compiled as one, local names hide those of another file, and g++ takes an unnamed
  # namespace for one of a header: neither means anything.
  $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>,-Wshadow>
  -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror
  # g++ 12 reports overlapping copies in std::string's operator+ that are not there (GCC bug 105651).
  # At -O2 it believes that moved variants and tl::expected may be uninitialised (GCC bug 105562);
  # the sanitizer job would find a real one.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>)
target_compile_definitions(tidemark_options INTERFACE
  JSON_USE_IMPLICIT_CONVERSIONS=0 TIDEMARK_VERSION="${PROJECT_VERSION}")

if(TIDEMARK_SANITIZE)
  # CAF 0.17's headers bind references to null where an actor takes no arguments: -fno-sanitize=null.
  target_compile_options(tidemark_options INTERFACE
    -fsanitize=${TIDEMARK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize=null
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_link_options(tidemark_options INTERFACE -fsanitize=${TIDEMARK_SANITIZE})
endif()
if(TIDEMARK_SANITIZE STREQUAL "thread")
  # Instrumented, g++ 12 takes a moved short string for a copy beyond its end.
  target_compile_options(tidemark_options INTERFACE -Wno-array-bounds)
endif()

find_program(TIDEMARK_CCACHE ccache)
if(TIDEMARK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TIDEMARK_CCACHE}")
endif()
find_program(TIDEMARK_MOLD mold)
if(TIDEMARK_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Parsing headers is most of the time of an unoptimised file: with CMAKE_UNITY_BUILD (the sanitizer presets,
# and all tests) a few files are compiled as one. Not so the release's libraries, whose files are compiled one
# by one: that is where a missing include or a name that two files give away is noticed.

# tidemark_library(name LINKS ... [PRIVATE_LINKS ...]): one static library a folder, made of all its
# sources but the *_main.cpp files, which are programs.
function(tidemark_library name)
  cmake_parse_arguments(ARG "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  add_library(tidemark_${name} STATIC ${sources})
  add_library(tidemark::${name} ALIAS tidemark_${name})
  target_link_libraries(tidemark_${name} PUBLIC tidemark::options ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# tidemark_tests(folder LABEL label LINKS ...): tests/<folder>/*_test.cpp as one Catch2 program.
function(tidemark_tests folder)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(TIDEMARK_SANITIZE STREQUAL "thread") # which slows everything down by as much
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  # A test of whole servers and their agents has two processors to itself, so that what it waits for is
  # theirs to do and no other test's.
  set(processors 1)
  if(NOT ARG_LABEL STREQUAL "unit")
    set(processors 2)
  endif()
  add_executable(test_${folder} ${sources})
  target_link_libraries(test_${folder} PRIVATE tidemark::test_support ${ARG_LINKS})
  # What is under test is optimised; optimising the tests themselves only costs time.
  target_compile_options(test_${folder} PRIVATE -O0)
  set_target_properties(test_${folder} PROPERTIES UNITY_BUILD ON)
  catch_discover_tests(test_${folder} TEST_PREFIX "${folder}: "
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${processors})
endfunction()
