/* Derived properties of the nodes' hop sequences that the kernels need. */
#include "common.h"

/* Finds the set at hop 0 of each node, the node of each such set (else -1), and cuts that divide the nodes into parts: two
 * parts share no set except the last one, the empty set, and every part except the last has at least `apart` nodes. Hop 0 is
 * the first of a sequence or, if it is `turned`, the last. Returns an error if a sequence is empty or if two nodes have the
 * same set at hop 0.
 * start and set, already checked by `check_rows` -> target [nodes], node [sets], cut [parts + 1]; counts: the number of
 * parts and the length of the longest sequence */
int arrange(int threads, index_t nodes, index_t sets, index_t apart, index_t turned, const index_t *start, const index_t *set, index_t *target,
            index_t *node, index_t *cut, index_t *counts) {
  (void)threads; /* one is enough: memory is the bottleneck */
  Memory memory = {0};
  index_t *lowest = (index_t *)uncleared(&memory, (nodes + 1) * sizeof(index_t) / sizeof(float)); /* the lowest set from a node on */
  index_t highest = -1, parts = 0, longest = 0;
  if (memory.failed) return release(&memory);
  for (index_t s = 0; s < sets; s++) node[s] = -1;
  lowest[nodes] = sets;
  cut[0] = 0;
  for (index_t v = nodes - 1; v >= 0; v--) {
    lowest[v] = lowest[v + 1];
    longest = start[v + 1] - start[v] > longest ? start[v + 1] - start[v] : longest;
    for (index_t at = start[v]; at < start[v + 1]; at++)
      if (set[at] != sets - 1) lowest[v] = smaller(lowest[v], set[at]);
  }
  for (index_t v = 0; v < nodes; v++) {
    if (start[v] == start[v + 1]) return release(&memory), NOT_THERE;
    if (v - cut[parts] >= apart && highest < lowest[v]) cut[++parts] = v;
    for (index_t at = start[v]; at < start[v + 1]; at++)
      if (set[at] != sets - 1 && set[at] > highest) highest = set[at];
    target[v] = set[turned ? start[v + 1] - 1 : start[v]];
    if (node[target[v]] >= 0) return release(&memory), NOT_ALONE;
    node[target[v]] = v;
  }
  cut[++parts] = nodes;
  counts[0] = parts;
  counts[1] = longest;
  return release(&memory);
}
