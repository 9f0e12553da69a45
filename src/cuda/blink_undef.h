/* No guard: takes back what the templates over leaves define, so that the next pair of widths may define it anew. */
#undef PIECE_KEYS
#undef FULL_FANOUT
#undef DIGEST_FANOUT
#undef BOUND
#undef LEAF_SLOTS
#undef LEAF_STATE
#undef LEAF_NEXT
#undef LEAF_HIGH
#undef LEAF_VALUES
#undef LEAF_PACKED_TWO
#undef LEAF_LANES
#undef CURSOR
#undef SORTED_ENOUGH
#undef QUERY
#undef CROWD_MOST
#undef HELD
#undef UPDATE
