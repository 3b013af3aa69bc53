/* One real matrix per hop: M_k = Re[W_out lambda^k exp(gamma) W_in], transposed, from the parameters of an LRU:
 * lambda = exp(-exp(nu) + i exp(theta)). */
#include "steps.h"

/* lambda^k exp(gamma). Shape: re and im [width, n] */
static void powers(const Recurrence *of, int n, int width, float *re, float *im) {
  for (int s = 0; s < n; s++) {
    const double size = exp(-exp(of->nu[s])), angle = exp(of->theta[s]), a = size * cos(angle), b = size * sin(angle);
    double x = exp(of->gamma[s]), y = 0;
    for (int k = 0; k < width; k++) {
      re[(size_t)k * n + s] = (float)x;
      im[(size_t)k * n + s] = (float)y;
      const double next = x * a - y * b;
      y = x * b + y * a;
      x = next;
    }
  }
}

/* F = [re W_re - im W_im; re W_im + im W_re] for rows [first, first + count) of W_in at one hop. Shape: [2 count, p] */
static void filtered(const Recurrence *of, int d, int first, int count, const float *re, const float *im, float *F) {
  const int p = padded(d);
  for (int s = 0; s < count; s++) {
    const int r = first + s;
    const float *a = of->in_re + (size_t)r * d, *b = of->in_im + (size_t)r * d;
    float *x = F + (size_t)s * p, *y = F + (size_t)(count + s) * p;
#pragma omp simd
    for (int j = 0; j < d; j++) {
      x[j] = re[r] * a[j] - im[r] * b[j];
      y[j] = re[r] * b[j] + im[r] * a[j];
    }
  }
}

/* Rows [first, first + count) of [out_re^T; -out_im^T]. Shape: [2 count, p] */
static void read_out(const Recurrence *of, int n, int d, int first, int count, float *O) {
  const int p = padded(d);
  for (int s = 0; s < count; s++)
    for (int j = 0; j < d; j++) {
      O[(size_t)s * p + j] = of->out_re[(size_t)j * n + first + s];
      O[(size_t)(count + s) * p + j] = -of->out_im[(size_t)j * n + first + s];
    }
}

/* matrices [width, d, d], input by output */
int hop_matrices_forward(int threads, int n, int d, int width, const Recurrence *of, float *matrices) {
  const int p = padded(d);
  Memory shared = {0};
  float *O = scratch(&shared, (size_t)2 * n * p), *re = scratch(&shared, (size_t)2 * width * n);
  if (shared.failed) return release(&shared);
  float *im = re + (size_t)width * n;
  read_out(of, n, d, 0, n, O);
  powers(of, n, width, re, im);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *F = scratch(&mine, (size_t)2 * n * p), *out = scratch(&mine, (size_t)p * p);
    const float **row = (const float **)uncleared(&mine, (size_t)2 * n * sizeof *row / sizeof(float));
    for (int s = 0; s < 2 * n && !mine.failed; s++) row[s] = F + (size_t)s * p;
#pragma omp for schedule(dynamic)
    for (int k = 0; k < width; k++) {
      if (mine.failed) continue;
      filtered(of, d, 0, n, re + (size_t)k * n, im + (size_t)k * n, F);
      memset(out, 0, sizeof(float) * p * p);
      outer_sum(row, d, O, p, p, 2 * n, out, p);
      for (int i = 0; i < d; i++) memcpy(matrices + ((size_t)k * d + i) * d, out + (size_t)i * p, d * sizeof(float));
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* Each thread works on some of the states, so that sums over hops are never shared between threads. */
int hop_matrices_backward(int threads, int n, int d, int width, const Recurrence *of, const float *into_matrices,
                          RecurrenceGradients *into) {
  enum { SOME = 8 };
  const int p = padded(d);
  Memory shared = {0};
  float *turned = scratch(&shared, (size_t)width * d * p), *copy = p != d ? scratch(&shared, (size_t)width * d * p) : NULL;
  float *re = scratch(&shared, (size_t)2 * width * n);
  if (shared.failed) return release(&shared);
  float *im = re + (size_t)width * n;
  const float *G = copy ? copy : into_matrices;
  powers(of, n, width, re, im);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *F = scratch(&mine, (size_t)2 * SOME * p), *O = scratch(&mine, (size_t)2 * SOME * p);
    float *dF = scratch(&mine, (size_t)2 * SOME * p), *dO = scratch(&mine, (size_t)2 * SOME * p);
    const float *row_F[2 * SOME], *row_O[2 * SOME];
    for (int s = 0; s < 2 * SOME && !mine.failed; s++) row_F[s] = F + (size_t)s * p, row_O[s] = O + (size_t)s * p;
#pragma omp for schedule(static)
    for (int k = 0; k < width; k++) {
      if (copy) copy_padded(into_matrices + (size_t)k * d * d, d, d, 0, copy + (size_t)k * d * p);
      copy_padded(into_matrices + (size_t)k * d * d, d, d, 1, turned + (size_t)k * d * p);
    }
#pragma omp for schedule(dynamic)
    for (int first = 0; first < n; first += SOME) {
      if (mine.failed) continue;
      const int count = (int)smaller(SOME, n - first);
      read_out(of, n, d, first, count, O);
      memset(dO, 0, sizeof(float) * 2 * SOME * p);
      for (int s = 0; s < count; s++) {
        const int r = first + s;
        into->nu[r] = into->theta[r] = into->gamma[r] = 0;
        memset(into->in_re + (size_t)r * d, 0, d * sizeof(float));
        memset(into->in_im + (size_t)r * d, 0, d * sizeof(float));
      }
      for (int k = 0; k < width; k++) {
        const float *re_k = re + (size_t)k * n, *im_k = im + (size_t)k * n;
        filtered(of, d, first, count, re_k, im_k, F);
        rows_times(row_O, 2 * count, d, turned + (size_t)k * d * p, p, p, dF, p, 0);
        rows_times(row_F, 2 * count, d, G + (size_t)k * d * p, p, p, dO, p, 1);
        for (int s = 0; s < count; s++) {
          const int r = first + s;
          const float scale_re = re_k[r], scale_im = im_k[r];
          const float *a = of->in_re + (size_t)r * d, *b = of->in_im + (size_t)r * d;
          const float *x = dF + (size_t)s * p, *y = dF + (size_t)(count + s) * p;
          float *da = into->in_re + (size_t)r * d, *db = into->in_im + (size_t)r * d, into_re = 0, into_im = 0;
#pragma omp simd reduction(+ : into_re, into_im)
          for (int j = 0; j < d; j++) {
            into_re += x[j] * a[j] + y[j] * b[j];
            into_im += y[j] * a[j] - x[j] * b[j];
            da[j] += scale_re * x[j] + scale_im * y[j];
            db[j] += scale_re * y[j] - scale_im * x[j];
          }
          const float along = into_re * scale_re + into_im * scale_im;
          into->gamma[r] += along;
          into->nu[r] -= k * along;
          into->theta[r] += k * (into_im * scale_re - into_re * scale_im);
        }
      }
      for (int r = first; r < first + count; r++) {
        into->nu[r] *= expf(of->nu[r]);
        into->theta[r] *= expf(of->theta[r]);
      }
      for (int s = 0; s < count; s++)
        for (int j = 0; j < d; j++) {
          into->out_re[(size_t)j * n + first + s] = dO[(size_t)s * p + j];
          into->out_im[(size_t)j * n + first + s] = -dO[(size_t)(count + s) * p + j];
        }
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}
