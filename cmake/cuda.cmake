# Looks for nvcc. Sets copse_have_cuda; with it the language CUDA is on.
# The emulator needs none of this: src/simt and src/device build everywhere.

set(COPSE_CUDA AUTO CACHE STRING "Build for CUDA cards: AUTO (where nvcc is found), CARD (where there is a card as well), ON, OFF")
set_property(CACHE COPSE_CUDA PROPERTY STRINGS AUTO CARD ON OFF)
set(COPSE_CUDA_ARCHITECTURES LOCAL CACHE STRING
  "Cards to compile for: LOCAL (those of this machine, Hopper where there is none), ALL (for releases), or a list as CMake takes it")
option(COPSE_LINEINFO "Keep source lines in device code, for profilers" OFF)
# Each card takes its own pass of the compiler, which is most of the time that a build takes. "real" is machine code for just that
# card; without the word there is PTX as well, which newer cards translate when the library is loaded.
set(copse_architectures_all "80-real;90-real;100") # Ampere, Hopper, Blackwell
set(copse_architectures_default "90")
set(copse_oldest_nvcc 13.0)

function(copse_cuda_missing why)
  if(COPSE_CUDA MATCHES "^(AUTO|CARD)$")
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
    check_language(CUDA)
  endif()
endmacro()

# Sets copse_architectures. CMake asks the cards of this machine when it enables the language.
macro(copse_cuda_architectures)
  if(COPSE_CUDA_ARCHITECTURES STREQUAL "ALL")
    set(copse_architectures ${copse_architectures_all})
  elseif(NOT COPSE_CUDA_ARCHITECTURES STREQUAL "LOCAL")
    set(copse_architectures ${COPSE_CUDA_ARCHITECTURES})
  elseif(CMAKE_CUDA_ARCHITECTURES_NATIVE MATCHES "^[0-9]+[a-z]*-real(;[0-9]+[a-z]*-real)*$")
    set(copse_architectures ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  else()
    set(copse_architectures ${copse_architectures_default})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${copse_architectures})
endmacro()

# Kernels are more than half of what a build takes, and without a card nothing here runs them.
function(copse_cuda_card out_there)
  execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE cards ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND cards MATCHES "GPU")
    set(${out_there} ON PARENT_SCOPE)
  else()
    set(${out_there} OFF PARENT_SCOPE)
  endif()
endfunction()

set(copse_have_cuda OFF)
set(copse_card ON)
if(COPSE_CUDA STREQUAL "CARD")
  copse_cuda_card(copse_card)
endif()
if(COPSE_CUDA STREQUAL "OFF")
  message(STATUS "Building without CUDA: COPSE_CUDA is OFF")
elseif(NOT copse_card)
  copse_cuda_missing("this machine has no card (nvidia-smi lists none); kernels run on the emulator")
elseif(copse_sanitizers OR COPSE_FUZZ)
  copse_cuda_missing("sanitizers and fuzzing run the emulator only")
else()
  copse_cuda_search()
  if(NOT CMAKE_CUDA_COMPILER)
    copse_cuda_missing("no nvcc was found that works with the C++ compiler (looked in PATH and /usr/local/cuda/bin)")
  else()
    set(CMAKE_CUDA_ARCHITECTURES ${copse_architectures_default}) # until the cards are known
    enable_language(CUDA)
    copse_cuda_architectures()
    find_package(CUDAToolkit QUIET)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS copse_oldest_nvcc)
      copse_cuda_missing("nvcc is of version ${CMAKE_CUDA_COMPILER_VERSION}, and ${copse_oldest_nvcc} is needed")
    elseif(NOT TARGET CUDA::cudart_static)
      copse_cuda_missing("libcudart_static.a was not found beside nvcc")
    else()
      set(copse_have_cuda ON)
      message(STATUS "Building with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${copse_architectures}")
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
  # The level is that of the host's side, which only launches; kernels are always optimised.
  set(CMAKE_CUDA_FLAGS_RELEASE "-O2 -DNDEBUG")
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG -lineinfo")
  if(COPSE_LINEINFO)
    string(APPEND CMAKE_CUDA_FLAGS_RELEASE " -lineinfo")
  endif()
  # nvcc hands the host compiler one text in which headers look like the file itself, so that clang takes each inline
  # function of theirs for an unused one of ours.
  # The driver unpacks device code when it is first used, and every driver that runs CUDA 13 can. A release, for several cards,
  # is packed as small as it gets, which takes over a second a file.
  set(copse_cuda_options -Xfatbin=-compress-all
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Wpointer-arith,-Wwrite-strings,-Wno-unused-function)
  list(LENGTH copse_architectures copse_architecture_count)
  if(copse_architecture_count GREATER 1)
    list(APPEND copse_cuda_options --compress-mode=size)
  endif()
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
