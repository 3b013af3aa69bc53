/* Functions that the kernels share: elementwise functions, scratch memory, and those of products.h.
 *
 * The kernels compute the GRED layer on a CPU, one tile of rows at a time, so that the data of a tile stays in the cache
 * from the first step to the last. Everything is float32, row-major and deterministic: results of threads are summed in a
 * fixed order. ops.py describes what each function computes; the tests compare all of them with PyTorch. Rows of scratch
 * arrays are padded to a multiple of 8 columns, so that products have no remainder; the padding of a result is never read.
 */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "products.h"

enum { MOST_PARTS = 12 };
enum { ERF = 0, TANH = 1 };

/* ---- elementwise functions, written so that compilers vectorise the loops around them ---- */

/* exp(-x) for x >= 0; beyond 87 it is exp(-87). The polynomial for the fraction has a relative error of 4e-9. */
static inline float exp_of_minus(float x) {
  const float number = x < 87.0f ? x : 87.0f; /* also if x is NaN, which has no power of two */
  x = x > 87.0f ? 87.0f : x;
  const float n = rintf(number * -1.44269504f);
  const float r = n * 2.12194440e-4f - (x + n * 0.693359375f);
  float p = 0.00137514079f;
  p = p * r + 0.00836891634f;
  p = p * r + 0.0416695331f;
  p = p * r + 0.166665185f;
  p = p * r + 0.499999886f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t bits = ((int32_t)n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, 4);
  return p * scale;
}

static inline float sigmoid_of(float x) {
  const float e = exp_of_minus(fabsf(x)), s = 1.0f / (1.0f + e);
  return x < 0 ? e * s : s;
}

/* gelu and its derivative. erf: x Phi(x), where Phi(x) - (x > 0) = -sign(x) tail; the fit of erfc(t) exp(t^2) / 2 in
 * 1 / (1 + t / 2) has a relative error of 2e-7. */
static inline void gelu_erf(float x, float *value, float *slope) {
  const float size = fabsf(x), t = size * 0.70710678f, s = 1.0f / (1.0f + 0.5f * t);
  float p = -0.02953461f;
  p = p * s + 0.142288085f;
  p = p * s - 0.2436011f;
  p = p * s + 0.139034895f;
  p = p * s - 0.013313695f;
  p = p * s + 0.101343775f;
  p = p * s + 0.1215518f;
  p = p * s + 0.141187665f;
  p = p * s + 0.14104321f;
  const float bell = exp_of_minus(t * t), tail = p * s * bell;
  *value = 0.5f * (x + size) - size * tail;
  *slope = (x < 0 ? tail : 1.0f - tail) + x * 0.39894228f * bell;
}

/* (1 + tanh(t)) / 2 is the sigmoid of 2 t, which loses nothing on the negative side. */
static inline void gelu_tanh(float x, float *value, float *slope) {
  const float s = sigmoid_of(1.59576912f * (x + 0.044715f * x * x * x));
  *value = x * s;
  *slope = s + x * s * (1.0f - s) * 1.59576912f * (1.0f + 3 * 0.044715f * x * x);
}

/* gelu of n numbers, and its derivative unless `slope` is NULL. */
MAYBE_UNUSED static void gelu(int form, int n, const float *restrict x, float *restrict value, float *restrict slope) {
  float unread;
  if (form == ERF && slope)
#pragma omp simd
    for (int j = 0; j < n; j++) gelu_erf(x[j], value + j, slope + j);
  else if (form == ERF)
#pragma omp simd private(unread)
    for (int j = 0; j < n; j++) gelu_erf(x[j], value + j, &unread);
  else if (slope)
#pragma omp simd
    for (int j = 0; j < n; j++) gelu_tanh(x[j], value + j, slope + j);
  else
#pragma omp simd private(unread)
    for (int j = 0; j < n; j++) gelu_tanh(x[j], value + j, &unread);
}

/* Dropout on row r of d numbers, decided by a hash of the position, so that the backward pass needs no mask. */
MAYBE_UNUSED static void drop(int d, uint32_t seed, index_t r, uint32_t limit, float scale, float *x) {
  if (!limit) return;
  const uint32_t first = (uint32_t)r * (uint32_t)d;
#pragma omp simd
  for (int j = 0; j < d; j++) {
    uint32_t hash = (first + (uint32_t)j) * 0x9E3779B1u ^ seed;
    hash ^= hash >> 16;
    hash *= 0x7FEB352Du;
    hash ^= hash >> 15;
    hash *= 0x846CA68Bu;
    hash ^= hash >> 16;
    x[j] = hash < limit ? 0.0f : x[j] * scale;
  }
}

/* ---- sums ---- */

static inline float total(vec v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* ---- scratch memory ---- */

/* The return values of functions; Python raises an exception for all but the first. */
enum { DONE = 0, NO_MEMORY = 1, NOT_THERE = 2, NOT_ALONE = 3 };

/* The memory that a function, or one of its threads, has allocated; `failed` is set if there was too little. */
typedef struct {
  void *parts[MOST_PARTS];
  int count, failed;
} Memory;

/* Allocates without clearing; NULL if there is too little memory. */
MAYBE_UNUSED static float *uncleared(Memory *of, size_t count) {
  void *part = NULL;
  if (of->failed || posix_memalign(&part, 64, count * sizeof(float) + 64)) return of->failed = 1, NULL;
  return of->parts[of->count++] = part;
}

MAYBE_UNUSED static float *scratch(Memory *of, size_t count) {
  float *part = uncleared(of, count);
  return part ? memset(part, 0, count * sizeof(float)) : NULL;
}

/* Frees everything; returns whether there was enough memory. */
MAYBE_UNUSED static int release(Memory *of) {
  while (of->count) free(of->parts[--of->count]);
  return of->failed ? NO_MEMORY : DONE;
}

/* The same for one thread, which reports a failure to the memory that all threads share. */
MAYBE_UNUSED static void release_into(Memory *mine, Memory *shared) {
  if (release(mine) != DONE) {
#pragma omp atomic write
    shared->failed = 1;
  }
}

/* [rows, columns] -> [rows, padded columns], or transposed: [columns, padded rows] */
MAYBE_UNUSED static void copy_padded(const float *from, index_t rows, int columns, int transpose, float *to) {
  if (!transpose)
    for (index_t i = 0; i < rows; i++) memcpy(to + i * padded(columns), from + i * columns, columns * sizeof(float));
  else
    for (int first = 0; first < columns; first += V) /* a few columns at a time, so that their rows stay in the cache */
      for (index_t i = 0; i < rows; i++)
        for (int j = first; j < first + V && j < columns; j++) to[(size_t)j * padded((int)rows) + i] = from[i * columns + j];
}

/* sum[j] += the same numbers of the other shares, in their order */
MAYBE_UNUSED static void add_up(float *restrict sum, int length, index_t count, size_t share) {
  for (index_t c = 1; c < count; c++)
#pragma omp simd
    for (int j = 0; j < length; j++) sum[j] += sum[c * share + j];
}

/* The sum of the shares of all threads, in the order of the threads; columns beyond `columns` are padding. */
MAYBE_UNUSED static void add_shares(float *to, const float *shares, size_t stride, int threads, int rows, int columns) {
  for (int i = 0; i < rows; i++) {
    float *restrict sum = to + (size_t)i * columns;
    const float *restrict share = shares + (size_t)i * padded(columns);
    memcpy(sum, share, columns * sizeof(float));
    for (int t = 1; t < threads; t++)
#pragma omp simd
      for (int j = 0; j < columns; j++) sum[j] += share[t * stride + j];
  }
}

