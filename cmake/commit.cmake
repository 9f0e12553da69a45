# Writes HEADER with the short hash of the commit that SOURCE_DIR stands at, "unknown" outside a git checkout.
# safe.directory: `sudo make install` runs git on another user's checkout, which it would refuse.
execute_process(COMMAND git -c safe.directory=${SOURCE_DIR} -C ${SOURCE_DIR} rev-parse --short HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
set(text "#define COPSE_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${HEADER} "${text}")
endif()
