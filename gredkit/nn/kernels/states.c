/* The states of a recurrence over hop sequences, each listed once.
 *
 * A sequence is read from its end. Two nodes whose sequences agree from the end on have the same states there, so these
 * are computed once: the states are a forest in which the children of a state read one more set. */
#include "common.h"

/* A slot of the hash table: the number of a state, or -1. */
static index_t slot_of(const index_t *table, index_t mask, const index_t *read, const index_t *parent, index_t s, index_t before) {
  index_t at = (index_t)(((uint64_t)s * 0x9E3779B97F4A7C15u ^ (uint64_t)(before + 1) * 0xC2B2AE3D27D4EB4Fu) >> 20) & mask;
  while (table[at] >= 0 && (read[table[at]] != s || parent[table[at]] != before)) at = (at + 1) & mask;
  return at;
}

/* start, sequence [rows] and cut [cuts + 1] as in `arrange`
 * -> set [listed], the sets that a part reads, each once, and begin [cuts + 1], where those of a part begin; read [states], the
 *    place in this list of the set that a state reads; parent [states], the state before it, or -1 if it is the first;
 *    last [nodes], the state in which a node's sequence ends; level [levels + 1], the states at which the levels begin;
 *    first [cuts + 1], the levels at which the parts begin; counts: the numbers of states and levels
 * All states of a level have read as many sets; the states of a part are consecutive, level by level. */
int merge_states(int threads, index_t nodes, index_t sets, index_t cuts, const index_t *start, const index_t *sequence,
                 const index_t *cut, index_t *set, index_t *begin, index_t *read, index_t *parent, index_t *last, index_t *level,
                 index_t *first, index_t *counts) {
  (void)threads; /* once per batch, and memory is the bottleneck */
  index_t most = 1, states = 0, levels = 0, listed = 0;
  for (index_t c = 0; c < cuts; c++) { /* at least two slots for each state of a part */
    const index_t rows = start[cut[c + 1]] - start[cut[c]];
    while (most < 2 * rows) most *= 2;
  }
  Memory memory = {0};
  index_t *table = (index_t *)uncleared(&memory, most * sizeof(index_t) / sizeof(float));
  index_t *place = (index_t *)uncleared(&memory, sets * sizeof(index_t) / sizeof(float)); /* of a set in the list, or -1 */
  if (memory.failed) return release(&memory);
  for (index_t s = 0; s < sets; s++) place[s] = -1;
  for (index_t v = 0; v < nodes; v++) last[v] = -1;
  for (index_t c = 0; c < cuts; c++) {
    index_t mask = 1, longest = 0;
    while (mask < 2 * (start[cut[c + 1]] - start[cut[c]])) mask *= 2;
    mask--;
    for (index_t at = 0; at <= mask; at++) table[at] = -1;
    for (index_t v = cut[c]; v < cut[c + 1]; v++) longest = start[v + 1] - start[v] > longest ? start[v + 1] - start[v] : longest;
    first[c] = levels;
    begin[c] = listed;
    for (index_t t = 0; t < longest; t++) {
      level[levels++] = states;
      for (index_t v = cut[c]; v < cut[c + 1]; v++) {
        if (start[v + 1] - start[v] <= t) continue;
        const index_t s = sequence[start[v + 1] - 1 - t];
        if (place[s] < begin[c]) { /* another part may have read the empty set */
          set[listed] = s;
          place[s] = listed++;
        }
        const index_t at = slot_of(table, mask, read, parent, place[s], last[v]);
        if (table[at] < 0) {
          read[states] = place[s];
          parent[states] = last[v];
          table[at] = states++;
        }
        last[v] = table[at];
      }
    }
  }
  first[cuts] = levels;
  begin[cuts] = listed;
  level[levels] = states;
  counts[0] = states;
  counts[1] = levels;
  return release(&memory);
}
