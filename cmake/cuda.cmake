# Looks for nvcc. Sets copse_have_cuda; with it the language CUDA is on.
# The emulator needs none of this: src/simt and src/device build everywhere.

set(COPSE_CUDA AUTO CACHE STRING "Build for CUDA cards: AUTO (where nvcc is found), ON, OFF")
set_property(CACHE COPSE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(COPSE_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING
  "Cards to compile for, as CMAKE_CUDA_ARCHITECTURES; by default Ampere, Hopper, Blackwell, and what comes later by PTX")
set(copse_oldest_nvcc 13.0)

function(copse_cuda_missing why)
  if(COPSE_CUDA STREQUAL "AUTO")
    message(STATUS "Building without CUDA: ${why}")
  else()
    message(FATAL_ERROR "COPSE_CUDA=${COPSE_CUDA}, but ${why}")
  endif()
endfunction()

# nvcc is often installed beside PATH, and takes its host compiler from PATH: both are said through the environment, which
# is what CMake's own search looks at.
macro(copse_cuda_search)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE) # looks again: one may have been installed since the folder was configured
    unset(COPSE_NVCC CACHE)
    find_program(COPSE_NVCC nvcc HINTS ENV CUDACXX PATHS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
    mark_as_advanced(COPSE_NVCC)
    if(COPSE_NVCC AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} ${COPSE_NVCC})
    endif()
    if(CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
      set(ENV{CUDAHOSTCXX} ${CMAKE_CXX_COMPILER})
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${COPSE_CUDA_ARCHITECTURES})
    check_language(CUDA)
  endif()
endmacro()

set(copse_have_cuda OFF)
if(COPSE_CUDA STREQUAL "OFF")
  message(STATUS "Building without CUDA: COPSE_CUDA is OFF")
elseif(copse_sanitizers OR COPSE_FUZZ)
  copse_cuda_missing("sanitizers and fuzzing run the emulator only")
else()
  copse_cuda_search()
  if(NOT CMAKE_CUDA_COMPILER)
    copse_cuda_missing("no nvcc was found that works with the C++ compiler (looked in PATH and /usr/local/cuda/bin)")
  else()
    set(CMAKE_CUDA_ARCHITECTURES ${COPSE_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS copse_oldest_nvcc)
      copse_cuda_missing("nvcc is of version ${CMAKE_CUDA_COMPILER_VERSION}, and ${copse_oldest_nvcc} is needed")
    elseif(NOT TARGET CUDA::cudart_static)
      copse_cuda_missing("libcudart_static.a was not found beside nvcc")
    else()
      set(copse_have_cuda ON)
      message(STATUS "Building with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${COPSE_CUDA_ARCHITECTURES}")
    endif()
  endif()
endif()

if(copse_have_cuda)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  # The libraries name what they need themselves, so that the installed packages do, too.
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
  # -lineinfo: source lines for profilers, at no cost at run time.
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG -lineinfo")
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG -lineinfo")
  # nvcc hands the host compiler one text in which headers look like the file itself, so that clang takes each inline
  # function of theirs for an unused one of ours.
  set(copse_cuda_options -Xcompiler=-Wall,-Wextra,-Wshadow,-Wpointer-arith,-Wwrite-strings,-Wno-unused-function)
  if(COPSE_WERROR)
    list(APPEND copse_cuda_options --Werror=all-warnings -Xcompiler=-Werror)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${copse_cuda_options}>")

  # CUB's headers need the C++ library. Its static one is taken, so that libcopse.so and the programs of this build, which
  # are C, do not ask for it when they start.
  set(host_compiler ${CMAKE_CUDA_HOST_COMPILER})
  if(NOT host_compiler)
    set(host_compiler c++)
  endif()
  execute_process(COMMAND ${host_compiler} -print-file-name=libstdc++.a
    OUTPUT_VARIABLE copse_cxx_library OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${copse_cxx_library}")
    set(copse_cxx_library stdc++)
  endif()
endif()
