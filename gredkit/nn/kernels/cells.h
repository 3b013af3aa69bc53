/* What one state of a recurrence computes, and its gradients. A record holds q = padded(n) numbers for each of
 *   RNN   h                        h = tanh(p + U h')
 *   LSTM  i f g o c h              c = f c' + i g, h = o tanh(c)
 *   GRU   r z m a h                m = U_a h' + inside, a = tanh(p_a + r m), h = (1 - z) a + z h'
 * where h' and c' belong to the state before, and are 0 for the first. */
#pragma once
#include "steps.h"

static const int GATES[] = {1, 4, 3}, SLOTS[] = {1, 6, 5};

static inline float tanh_of(float x) {
  const float size = fabsf(x), e = exp_of_minus(2.0f * size), s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float near = x + x * s * p, far = (1.0f - e) / (1.0f + e); /* `far` cancels near 0 */
  return size < 0.625f ? near : x < 0 ? -far : far;
}

/* One state: its record holds the products with U already, p are those of its set with W_in; `bias` is that of the gates, and
 * `inside` that of the last gate of a GRU which the reset gate multiplies. */
MAYBE_UNUSED static void compute(int kind, int n, const float *restrict p, const float *restrict bias, const float *restrict inside,
                                 const float *restrict before, float *restrict at) {
  const int q = padded(n);
  if (kind == RNN)
#pragma omp simd
    for (int j = 0; j < n; j++) at[j] = tanh_of(p[j] + bias[j] + at[j]);
  else if (kind == LSTM)
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float i = sigmoid_of(p[j] + bias[j] + at[j]), f = sigmoid_of(p[q + j] + bias[q + j] + at[q + j]);
      const float g = tanh_of(p[2 * q + j] + bias[2 * q + j] + at[2 * q + j]);
      const float o = sigmoid_of(p[3 * q + j] + bias[3 * q + j] + at[3 * q + j]);
      const float c = f * before[4 * q + j] + i * g;
      at[j] = i, at[q + j] = f, at[2 * q + j] = g, at[3 * q + j] = o, at[4 * q + j] = c;
      at[5 * q + j] = o * tanh_of(c);
    }
  else
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float r = sigmoid_of(p[j] + bias[j] + at[j]), z = sigmoid_of(p[q + j] + bias[q + j] + at[q + j]);
      const float m = at[2 * q + j] + inside[j], a = tanh_of(p[2 * q + j] + bias[2 * q + j] + r * m);
      at[j] = r, at[q + j] = z, at[2 * q + j] = m, at[3 * q + j] = a;
      at[4 * q + j] = (1.0f - z) * a + z * before[4 * q + j];
    }
}

/* Gradients of one state: from into_h and, for an LSTM, into_c, those of the products with U, which are those of p except for the
 * last gate of a GRU (`into_a`), and what reaches the state before directly (`through`: of c' or h'). */
MAYBE_UNUSED static void differentiate(int kind, int n, const float *restrict before, const float *restrict at,
                                       const float *restrict into_h, const float *restrict into_c, float *restrict into_u,
                                       float *restrict into_a, float *restrict through) {
  const int q = padded(n);
  if (kind == RNN)
#pragma omp simd
    for (int j = 0; j < n; j++) into_u[j] = into_h[j] * (1.0f - at[j] * at[j]);
  else if (kind == LSTM)
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float i = at[j], f = at[q + j], g = at[2 * q + j], o = at[3 * q + j], t = tanh_of(at[4 * q + j]);
      const float into = into_c[j] + into_h[j] * o * (1.0f - t * t);
      into_u[j] = into * g * i * (1.0f - i);
      into_u[q + j] = into * before[4 * q + j] * f * (1.0f - f);
      into_u[2 * q + j] = into * i * (1.0f - g * g);
      into_u[3 * q + j] = into_h[j] * t * o * (1.0f - o);
      through[j] = into * f;
    }
  else
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float r = at[j], z = at[q + j], m = at[2 * q + j], a = at[3 * q + j];
      const float into = into_h[j] * (1.0f - z) * (1.0f - a * a);
      into_u[j] = into * m * r * (1.0f - r);
      into_u[q + j] = into_h[j] * (before[4 * q + j] - a) * z * (1.0f - z);
      into_u[2 * q + j] = into * r;
      into_a[j] = into;
      through[j] = into_h[j] * z;
    }
}
