/*
 * The collectives of a warp and the barrier of a block.
 *
 * A lane that reaches a collective joins the group of lanes that wait there with the same mask; the lane that completes the
 * group computes the results of all, and all are ready again. The emulator reports a lane that waits in vain at once: a lane is
 * either ready, in one group, at the barrier, or has ended, so that it finds two lanes that wait for each other when the second
 * one arrives, and longer circles when no lane is ready any more.
 */
#include "simt/emulator_internal.h"

static const char *const collective_name[] = {
    [COPSE_SIMT_SYNCWARP] = "__syncwarp",
    [COPSE_SIMT_BALLOT] = "__ballot_sync",
    [COPSE_SIMT_ANY] = "__any_sync",
    [COPSE_SIMT_ALL] = "__all_sync",
    [COPSE_SIMT_SHFL_U32] = "simt_shfl_u32",
    [COPSE_SIMT_SHFL_U64] = "simt_shfl_u64",
    [COPSE_SIMT_SHFL_XOR_U32] = "simt_shfl_xor_u32",
    [COPSE_SIMT_SHFL_XOR_U64] = "simt_shfl_xor_u64",
    [COPSE_SIMT_SHFL_UP_U32] = "simt_shfl_up_u32",
    [COPSE_SIMT_SHFL_UP_U64] = "simt_shfl_up_u64",
    [COPSE_SIMT_SHFL_DOWN_U32] = "simt_shfl_down_u32",
    [COPSE_SIMT_SHFL_DOWN_U64] = "simt_shfl_down_u64",
};

#define UNDEFINED UINT64_C(0xdeadbeefdeadbeef) /* what a shuffle gives where CUDA promises nothing */

static inline emulated_lane *this_lane(void)
{
    return (emulated_lane *)copse_simt_me;
}

static inline unsigned first_of(uint32_t lanes)
{
    return (unsigned)__builtin_ctz(lanes);
}

/* Reports the fault and does not return to the kernel. */
#define FAIL(lane_, ...)                                                                                               \
    do {                                                                                                               \
        copse_emulator_fault((lane_)->warp->block->launch, (lane_)->warp->block, lane_, __VA_ARGS__);                  \
        copse_emulator_stop(lane_);                                                                                    \
    } while (0)

/* --- collectives ------------------------------------------------------------------------------------------------------ */

static COPSE_NO_TSAN void check_mask(emulated_lane *lane, copse_simt_collective collective, uint32_t mask)
{
    const emulated_warp *warp = lane->warp;
    const char *name = collective_name[collective];
    uint32_t bad;
    if (!(mask >> lane->number & 1u)) {
        FAIL(lane, "%s with mask 0x%08x, which does not name the lane itself", name, (unsigned)mask);
    }
    if ((bad = mask & ~warp->present) != 0) {
        FAIL(lane, "%s names lane %u, which the block does not have", name, first_of(bad));
    }
    if ((bad = mask & warp->ended) != 0) FAIL(lane, "%s names lane %u, which has ended", name, first_of(bad));
    if ((bad = mask & warp->at_barrier) != 0) {
        FAIL(lane, "%s names lane %u, which waits at __syncthreads", name, first_of(bad));
    }
}

/* The lane that a shuffle takes its value from. Reading a lane that is not in the mask gives an undefined value, which up
 * and down have at their ends in correct kernels too; the other two have no reason to do it. */
static COPSE_NO_TSAN uint32_t source_of(emulated_lane *lane, copse_simt_collective collective, uint32_t mask,
                                        uint32_t argument)
{
    uint32_t own = lane->number, source = own;
    bool strict = true;
    switch (collective) {
    case COPSE_SIMT_SHFL_U32:
    case COPSE_SIMT_SHFL_U64:
        source = argument % SIMT_WARP;
        break;
    case COPSE_SIMT_SHFL_XOR_U32:
    case COPSE_SIMT_SHFL_XOR_U64:
        source = argument < SIMT_WARP ? own ^ argument : own;
        break;
    case COPSE_SIMT_SHFL_UP_U32:
    case COPSE_SIMT_SHFL_UP_U64:
        source = argument <= own ? own - argument : own;
        strict = false;
        break;
    case COPSE_SIMT_SHFL_DOWN_U32:
    case COPSE_SIMT_SHFL_DOWN_U64:
        source = argument < SIMT_WARP - own ? own + argument : own;
        strict = false;
        break;
    default:
        return own;
    }
    if (mask >> source & 1u) return source;
    if (strict) {
        FAIL(lane, "%s reads lane %u, which is not in the mask 0x%08x", collective_name[collective], (unsigned)source,
             (unsigned)mask);
    }
    return NO_SOURCE;
}

/* The group to join, a new one where there is none yet. */
static COPSE_NO_TSAN emulated_group *group_for(emulated_lane *lane, copse_simt_collective collective, uint32_t mask)
{
    emulated_warp *warp = lane->warp;
    emulated_group *found = NULL;
    for (uint32_t i = 0; i < warp->groups; i++) {
        emulated_group *other = &warp->group[i];
        if (other->collective == collective && other->mask == mask) {
            found = other;
        } else if ((other->mask >> lane->number & 1u) && (other->arrived & mask)) {
            FAIL(lane, "%s with mask 0x%08x waits for lane %u, which waits for this one at %s with mask 0x%08x",
                 collective_name[collective], (unsigned)mask, first_of(other->arrived & mask),
                 collective_name[other->collective], (unsigned)other->mask);
        }
    }
    if (found) {
        if (collective == COPSE_SIMT_SYNCWARP) copse_emulator_edge_leave(found->edge);
        return found;
    }
    found = &warp->group[warp->groups++];
    *found = (emulated_group){collective, mask, 0, &warp->edge[warp->edges_used++ % WARP_EDGES]};
    if (collective == COPSE_SIMT_SYNCWARP) copse_emulator_edge_begin(found->edge);
    return found;
}

static COPSE_NO_TSAN uint64_t result_for(const emulated_warp *warp, const emulated_lane *lane,
                                         const emulated_group *group, uint32_t votes)
{
    switch (group->collective) {
    case COPSE_SIMT_SYNCWARP:
        return 0;
    case COPSE_SIMT_BALLOT:
        return votes;
    case COPSE_SIMT_ANY:
        return votes != 0;
    case COPSE_SIMT_ALL:
        return votes == group->mask;
    default:
        return lane->source == NO_SOURCE ? UNDEFINED : warp->lanes[lane->source].value;
    }
}

/* All lanes of the group have arrived: gives each its result, makes them ready and closes the group. */
static COPSE_NO_TSAN void complete(emulated_warp *warp, emulated_group *group)
{
    uint32_t votes = 0;
    for (uint32_t left = group->mask; left; left &= left - 1) {
        votes |= (uint32_t)(warp->lanes[first_of(left)].value & 1u) << first_of(left);
    }
    for (uint32_t left = group->mask; left; left &= left - 1) {
        emulated_lane *lane = &warp->lanes[first_of(left)];
        lane->result = result_for(warp, lane, group, votes);
    }
    warp->ready |= group->mask;
    warp->block->ready_warps |= 1u << warp->number;
    *group = warp->group[--warp->groups];
}

/* Takes the lane from the ready ones, until the lane that completes its group or opens the barrier puts it back. */
static COPSE_NO_TSAN void wait(emulated_lane *lane)
{
    emulated_warp *warp = lane->warp;
    warp->ready &= ~(1u << lane->number);
    if (warp->ready == 0) warp->block->ready_warps &= ~(1u << warp->number);
    copse_emulator_give_way(lane);
}

COPSE_NO_TSAN uint64_t copse_simt_rendezvous(copse_simt_collective collective, uint32_t mask, uint64_t value,
                                             uint32_t argument)
{
    emulated_lane *lane = this_lane();
    check_mask(lane, collective, mask);
    lane->value = value;
    lane->source = source_of(lane, collective, mask, argument);
    emulated_group *group = group_for(lane, collective, mask);
    uint64_t *edge = group->edge;
    group->arrived |= 1u << lane->number;
    if (group->arrived != mask) {
        wait(lane);
    } else {
        complete(lane->warp, group);
        /* In the fixed order the last lane to arrive goes on at once, which saves two switches. */
        if (lane->warp->block->launch->options->seed != 0) {
            copse_emulator_give_way(lane);
        } else if (--lane->self.patience == 0) {
            copse_simt_preempt();
        }
    }
    if (collective == COPSE_SIMT_SYNCWARP) copse_emulator_edge_pass(edge);
    return lane->result;
}

/* --- the barrier ------------------------------------------------------------------------------------------------------ */

static COPSE_NO_TSAN void check_barrier(emulated_lane *lane, unsigned line)
{
    const emulated_block *block = lane->warp->block;
    copse_emulator_check_missed(lane, "waits at __syncthreads");
    if (__atomic_load_n(&block->launch->faulted, __ATOMIC_RELAXED)) copse_emulator_stop(lane);
    for (uint32_t i = 0; i < block->warps; i++) {
        if (block->warp[i].ended == 0) continue;
        FAIL(lane, "__syncthreads of line %u is not reached by lane %u of warp %u, which has ended", line,
             first_of(block->warp[i].ended), (unsigned)i);
    }
    if (block->barrier_arrived != 0 && block->barrier_line != line) {
        FAIL(lane, "__syncthreads of line %u, while other threads wait at that of line %u", line, block->barrier_line);
    }
}

static COPSE_NO_TSAN void open_barrier(emulated_block *block)
{
    for (uint32_t i = 0; i < block->warps; i++) {
        block->warp[i].at_barrier = 0;
        block->warp[i].ready = block->warp[i].present;
        block->ready_warps |= 1u << i;
    }
    block->barrier_arrived = 0;
    block->barriers++;
}

COPSE_NO_TSAN void copse_simt_barrier(unsigned line)
{
    emulated_lane *lane = this_lane();
    emulated_block *block = lane->warp->block;
    check_barrier(lane, line);
    /* Two, in turns: no lane reaches the barrier after the next one before all lanes have left this one. */
    uint64_t *edge = &block->barrier_edge[block->barriers % 2];
    if (block->barrier_arrived++ == 0) {
        block->barrier_line = line;
        copse_emulator_edge_begin(edge);
    } else {
        copse_emulator_edge_leave(edge);
    }
    if (block->barrier_arrived == block->threads) {
        open_barrier(block);
        copse_emulator_give_way(lane);
    } else {
        lane->warp->at_barrier |= 1u << lane->number;
        wait(lane);
    }
    copse_emulator_edge_pass(edge);
}

/* --- lanes that wait in vain ------------------------------------------------------------------------------------------ */

COPSE_NO_TSAN void copse_emulator_check_missed(emulated_lane *lane, const char *what)
{
    emulated_warp *warp = lane->warp;
    for (uint32_t i = 0; i < warp->groups; i++) {
        const emulated_group *group = &warp->group[i];
        if (!(group->mask >> lane->number & 1u)) continue;
        const struct emulated_lane *waiting = &warp->lanes[first_of(group->arrived)];
        copse_emulator_fault(warp->block->launch, warp->block, waiting, "%s names lane %u, which %s",
                             collective_name[group->collective], (unsigned)lane->number, what);
    }
}

COPSE_NO_TSAN void copse_emulator_deadlock(emulated_block *block)
{
    for (uint32_t i = 0; i < block->warps; i++) {
        const emulated_warp *warp = &block->warp[i];
        if (warp->groups == 0) continue;
        const emulated_group *group = &warp->group[0];
        copse_emulator_fault(block->launch, block, &warp->lanes[first_of(group->arrived)],
                             "%s with mask 0x%08x waits for lane %u, which waits for others in a circle",
                             collective_name[group->collective], (unsigned)group->mask,
                             first_of(group->mask & ~group->arrived));
        return;
    }
    copse_emulator_fault(block->launch, block, NULL, "no thread can go on");
}
