# What `make install` puts where: header, both libraries, pkg-config file, CMake package, command, man page and completions.
include(CMakePackageConfigHelpers)

set(copse_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/copse)

# Line numbers are for the build folder; what is installed goes without them unless asked for.
option(COPSE_STRIP "Strip what is installed" ON)
if(COPSE_STRIP)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()

install(FILES include/copse.h include/copse_query.h include/copse_device.cuh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Two export sets: a program that links the shared library need not have what only the static one asks for.
install(TARGETS copse_shared EXPORT copseShared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS copse_static EXPORT copseStatic ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# CMake strips programs and shared libraries only. Names have to stay in a static one.
if(COPSE_STRIP AND CMAKE_STRIP)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:copse_static>\")
  ")
endif()
install(EXPORT copseShared NAMESPACE copse:: DESTINATION ${copse_package_dir})
install(EXPORT copseStatic NAMESPACE copse:: DESTINATION ${copse_package_dir})

if(TARGET copse_command)
  install(TARGETS copse_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Both shells look there by themselves; bash goes by the name of the file.
  install(FILES completions/copse.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME copse)
  install(FILES completions/_copse DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/man/copse.1)
  install(FILES man/copse.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

configure_package_config_file(cmake/copseConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/copseConfig.cmake
  INSTALL_DESTINATION ${copse_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/copseConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/copseConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/copseConfigVersion.cmake
        DESTINATION ${copse_package_dir})

# The prefix goes into the .pc file at install time, when it is final (cmake --install --prefix may change it).
set(copse_cudart_flags "")
if(copse_have_cuda)
  set(copse_cudart_flags " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -ldl -lrt -lpthread")
endif()
set(COPSE_PREFIX "@COPSE_PREFIX@")
configure_file(cmake/copse.pc.in ${PROJECT_BINARY_DIR}/generated/copse.pc.in @ONLY)
install(CODE "
  set(COPSE_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
  configure_file(\"${PROJECT_BINARY_DIR}/generated/copse.pc.in\" \"${PROJECT_BINARY_DIR}/generated/copse.pc\" @ONLY)
")
install(FILES ${PROJECT_BINARY_DIR}/generated/copse.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
