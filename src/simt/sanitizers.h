/* Which sanitizers this is built with, in gcc's and clang's words, and what the emulator has to declare to them. */
#pragma once

#include <stddef.h>

#if defined(__has_feature)
#define COPSE_HAS_SANITIZER_(name) __has_feature(name)
#else
#define COPSE_HAS_SANITIZER_(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || COPSE_HAS_SANITIZER_(address_sanitizer)
#define COPSE_ASAN 1
#else
#define COPSE_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || COPSE_HAS_SANITIZER_(thread_sanitizer)
#define COPSE_TSAN 1
#else
#define COPSE_TSAN 0
#endif

/* The emulator's own memory is shared by lanes that are threads of their own to ThreadSanitizer, though only one of them
 * runs at a time. What touches that memory is not instrumented: only the lanes' own accesses are to be checked. */
#if COPSE_TSAN
#define COPSE_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define COPSE_NO_TSAN
#endif

#if COPSE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if COPSE_TSAN
#include <sanitizer/tsan_interface.h>
#endif
