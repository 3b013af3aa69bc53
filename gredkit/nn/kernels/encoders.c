/* The encoders as a step of a layer: from the rows of sets to what each node reads. */
#include "steps.h"

static Recurrence of_lru(const float *const *w) { return (Recurrence){w[0], w[1], w[2], w[3], w[4], w[5], w[6]}; }

/* The number of floats that an encoder keeps for the backward pass, or needs in the forward pass. */
index_t encoder_kept(const Encoder *of) {
  if (of->kind == LRU) return of->width * of->d * of->d;
  return of->kind == ATTENTION ? attention_kept(of) : recurrent_kept(of);
}

int encoder_forward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights, float *kept,
                    float *y) {
  const int n = (int)of->n, d = (int)of->d, width = (int)of->width;
  if (of->kind == ATTENTION) return attention_forward(threads, of, index, z, weights, kept, y);
  if (of->kind != LRU) return recurrent_forward(threads, of, index, z, weights, kept, y);
  const Recurrence recurrence = of_lru(weights);
  const int status = hop_matrices_forward(threads, n, d, width, &recurrence, kept);
  return status ? status : hop_filter_forward(threads, of->nodes, d, width, index->start, index->set, z, kept, y);
}

int encoder_backward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights,
                     const float *kept, const float *into_y, float *into_z, float *const *into) {
  const int n = (int)of->n, d = (int)of->d, width = (int)of->width;
  if (of->kind == ATTENTION) return attention_backward(threads, of, index, z, weights, kept, into_y, into_z, into);
  if (of->kind != LRU) return recurrent_backward(threads, of, index, z, weights, kept, into_y, into_z, into);
  const Recurrence recurrence = of_lru(weights);
  RecurrenceGradients gradients = {into[0], into[1], into[2], into[3], into[4], into[5], into[6]};
  Memory memory = {0};
  float *into_matrices = uncleared(&memory, (size_t)width * d * d);
  if (!memory.failed &&
      (hop_filter_backward(threads, of->nodes, d, width, of->sets, index->start, index->set, of->cuts, index->cut, z, kept, into_y,
                           into_z, into_matrices) ||
       hop_matrices_backward(threads, n, d, width, &recurrence, into_matrices, &gradients)))
    memory.failed = 1;
  return release(&memory);
}
