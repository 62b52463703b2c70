# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers and the rule how a floor becomes a library.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCKSTEP_CCACHE})
endif()
option(LOCKSTEP_WERROR "Warnings are errors" ON)
option(LOCKSTEP_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

# The same source must give the same bytes with every compiler: no contraction, no fast-math.
add_compile_options(-ffp-contract=off)
if(LOCKSTEP_SANITIZE)
  # GCC 12 does not see through its own instrumentation of std::optional: false alarms.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
endif()

add_library(lockstep_warnings INTERFACE)
target_compile_options(lockstep_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       -Wno-missing-field-initializers -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>
                       # GCC 12 sees overlaps in std::string::insert and operator+ that cannot be (GCC bug 105651).
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# lockstep_add_floor(NAME LINK ...): every .cpp below NAME/ except cli/main.cpp becomes the static library NAME.
function(lockstep_add_floor name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.cpp$")
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} ${ARG_LINK})
  target_link_libraries(${name} PRIVATE lockstep_warnings)
endfunction()
