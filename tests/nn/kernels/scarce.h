/* Included before all sources in a test: memory and threads are counted, and one request, by its number, fails. */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

__attribute__((weak)) long asked, failing = -1, held; /* weak: one for all files */

static inline int is_refused(void) { return __atomic_fetch_add(&asked, 1, __ATOMIC_SEQ_CST) == failing; }

static inline int scarce_memalign(void **memory, size_t alignment, size_t size) {
  if (is_refused()) return ENOMEM;
  __atomic_fetch_add(&held, 1, __ATOMIC_SEQ_CST);
  return posix_memalign(memory, alignment, size);
}

static inline void scarce_free(void *memory) {
  if (memory) __atomic_fetch_sub(&held, 1, __ATOMIC_SEQ_CST);
  free(memory);
}

static inline int scarce_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  return is_refused() ? EAGAIN : pthread_create(thread, attributes, run, argument);
}

#define posix_memalign scarce_memalign
#define free scarce_free
#define pthread_create scarce_create
