/* Start threads before they are needed: if OpenMP cannot start a thread, it ends the process. */
#include "common.h"

#include <pthread.h>

static void *wait_for(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Tests whether so many threads can run at once. The system keeps their memory, so OpenMP can start its own afterwards. */
int start_threads(int threads) {
  Memory memory = {0};
  pthread_t *started = (pthread_t *)uncleared(&memory, threads * sizeof(pthread_t) / sizeof(float));
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  if (memory.failed) return release(&memory);
  int count = 0;
  pthread_mutex_lock(&gate);
  while (count < threads - 1 && !pthread_create(started + count, NULL, wait_for, &gate)) count++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < count; i++) pthread_join(started[i], NULL);
  if (count < threads - 1) memory.failed = 1;
  else
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
  }
  return release(&memory);
}
