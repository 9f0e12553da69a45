/*
 * Large batches on the B-link and the B+ tree, put in order by the separators of the tree instead of a sort: two kernels, which also
 * find all that an update in place has to know. It rests on a guess, that the keys of the batch are spread over the base_leaves of
 * the tree more or less evenly. Where they are not, that turns out before anything has been changed.
 */
#include "trees/blink/tree.h"

/* Smaller batches are for other ways. */
#define LEAST (UINT64_C(1) << 17)
/* Operations of a bucket on average: as many as this, or fewer where the multiprocessors would not all have work, or where the base_leaves
 * are many; more where there cannot be more buckets, up to some share of the room. */
#define BUCKET_AVERAGE       2048u
#define BUCKET_AVERAGE_LEAST 128u
#define BUCKET_AVERAGE_MOST  2432u
/* Room of a bucket beyond one and a half times the average: where that is small, chance counts for more. */
#define ROOM_MORE 128u
/* Buckets at most. */
#define BUCKETS_MOST 2040u
/* Blocks that a multiprocessor should have. */
#define BLOCKS           2u
#define PARTITION_BLOCKS 2u
/* Children of a node. */
#define FANOUT 17u

/* How a batch is partitioned. */
typedef struct shape {
    uint32_t buckets, bucket_nodes, group_shift, room;
} shape;

/* False: there is no good way. */
static bool shape_choose(const copse_index *index, uint64_t base_leaves, uint64_t n, shape *out)
{
    const size_t key = copse_type_size(index->key_type), value = copse_type_size(index->value_type);
    const uint64_t nodes = (base_leaves + FANOUT - 1) / FANOUT,
                   nodes_most = COPSE_BUCKET_SORT_BASE_LEAVES(key, value) / FANOUT;
    const uint64_t groups_most = COPSE_BUCKET_SORT_GROUPS(key, value);
    uint64_t average = n / ((uint64_t)index->device->multiprocessors * BLOCKS);
    if (average > BUCKET_AVERAGE) average = BUCKET_AVERAGE;
    if (average < BUCKET_AVERAGE_LEAST) average = BUCKET_AVERAGE_LEAST;
    uint64_t buckets = (n + average - 1) / average;
    if (buckets < (nodes + nodes_most - 1) / nodes_most) buckets = (nodes + nodes_most - 1) / nodes_most;
    if (buckets > BUCKETS_MOST) buckets = BUCKETS_MOST;
    const uint64_t bucket_nodes = (nodes + buckets - 1) / buckets, each = (n * bucket_nodes + nodes - 1) / nodes;
    const uint64_t room = each + each / 2 + ROOM_MORE;
    *out = (shape){.buckets = (uint32_t)((nodes + bucket_nodes - 1) / bucket_nodes),
                   .bucket_nodes = (uint32_t)bucket_nodes,
                   .room = room < COPSE_BUCKET_SORT_ROOM ? (uint32_t)room : COPSE_BUCKET_SORT_ROOM};
    /* Not many more groups than operations; and one base_leaf more than there are may have some. */
    while ((bucket_nodes * FANOUT >> out->group_shift) >= groups_most ||
           (bucket_nodes * FANOUT >> out->group_shift) > 3 * each)
        out->group_shift++;
    return bucket_nodes <= nodes_most && each <= BUCKET_AVERAGE_MOST;
}

bool copse_blink_bucket_sort_may(copse_index *index, const copse_blink_epoch *epoch, uint64_t n)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    const copse_device_levels *levels = &epoch->view.levels;
    const uint64_t least = index->device->bucket_sort_least ? index->device->bucket_sort_least : LEAST;
    const bool short_range = levels->digest || copse_type_size(index->key_type) == 4;
    shape ignored;
    if (n < least || !short_range || levels->height == 0 || tree->predictor.ascending) return false;
    return shape_choose(index, epoch->view.base_leaves, n, &ignored) && copse_predictor_ask(&tree->bucket_sorted);
}

/* Words for the ticket, as many as keep what is behind them aligned. */
#define WORDS_MORE 32u

/* Memory of the kernels: counts and the like of the buckets, and the buckets. */
static copse_status memory_take(const copse_index *index, copse_blink_bucket_sorting *bucket_sorting)
{
    copse_device *device = index->device;
    copse_bucket_sort_arguments *arguments = &bucket_sorting->arguments;
    const uint64_t place = COPSE_PARTITION_BYTES(copse_type_size(index->key_type), copse_type_size(index->value_type));
    const uint64_t words = 3 * COPSE_BUCKET_SORT_BUCKETS + WORDS_MORE;
    bucket_sorting->bytes = words * sizeof(uint32_t) + (uint64_t)arguments->buckets * arguments->room * place;
    copse_status status =
        copse_device_alloc(device, device->main, bucket_sorting->bytes, "sorting the batch", &bucket_sorting->memory);
    if (status != COPSE_OK) return status;
    arguments->cursors = bucket_sorting->memory;
    arguments->boundaries = arguments->cursors + COPSE_BUCKET_SORT_BUCKETS;
    arguments->bases = arguments->boundaries + COPSE_BUCKET_SORT_BUCKETS;
    arguments->ticket = arguments->bases + COPSE_BUCKET_SORT_BUCKETS;
    arguments->partitions = arguments->cursors + words;
    return COPSE_OK;
}

/* Arrays for what comes of it. */
static copse_status made_take(const copse_index *index, copse_blink_bucket_sorting *bucket_sorting)
{
    copse_bucket_sort_arguments *arguments = &bucket_sorting->arguments;
    copse_device_pairs *made = &bucket_sorting->made;
    const bool erases = arguments->operations.action == COPSE_ACTION_ERASE;
    copse_status status =
        copse_device_pairs_room(index, made, made->n, &arguments->out_keys, erases ? NULL : &arguments->out_values);
    made->keys = arguments->out_keys;
    made->values = arguments->out_values;
    return status;
}

copse_status copse_blink_bucket_sort_take(const copse_index *index, const copse_device_pairs *raw, copse_action action,
                                          copse_blink_bucket_sorting *out)
{
    copse_blink *tree = copse_blink_handle_of(index)->tree;
    shape s;
    (void)shape_choose(index, tree->current->view.base_leaves, raw->n, &s);
    *out = (copse_blink_bucket_sorting){
        .made = {.n = raw->n, .key_type = copse_device_pairs_type(index), .predictor = &tree->bucket_sorted},
        .arguments = {.operations = {.keys = raw->keys,
                                     .values = raw->values,
                                     .action = action,
                                     .last_wins = action != COPSE_ACTION_IF_ABSENT,
                                     .n = raw->n},
                      .buckets = s.buckets,
                      .bucket_nodes = s.bucket_nodes,
                      .bucket_base_leaves = s.bucket_nodes * FANOUT,
                      .group_shift = s.group_shift,
                      .room = s.room}};
    copse_status status = memory_take(index, out);
    if (status == COPSE_OK) status = made_take(index, out);
    if (status == COPSE_OK) return COPSE_OK;
    copse_blink_bucket_sort_free(index, out);
    copse_device_pairs_free(index, &out->made);
    return status;
}

/* Operations of a thread of `part`: few, where otherwise some multiprocessors would have none. */
static uint32_t each_of(const copse_index *index, const copse_kernel *part, uint64_t n)
{
    const uint64_t threads = (uint64_t)index->device->multiprocessors * PARTITION_BLOCKS * part->threads;
    const uint64_t each = (n + threads - 1) / threads, most = COPSE_PARTITION_TILE / part->threads;
    return (uint32_t)(each < most ? each : most);
}

copse_status copse_blink_part_launch(const copse_index *index, const copse_blink_epoch *epoch,
                                     copse_blink_bucket_sorting *bucket_sorting)
{
    copse_device *device = index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(index);
    copse_bucket_sort_arguments *arguments = &bucket_sorting->arguments;
    const uint64_t n = arguments->operations.n;
    arguments->tree = epoch->view;
    arguments->each = each_of(index, &kernels->partition, n);
    arguments->counters = epoch->counters;
    const uint64_t tile = (uint64_t)arguments->each * kernels->partition.threads;
    copse_status status = copse_device_launch(device, device->main, &kernels->partition_bounds,
                                              COPSE_BUCKET_SORT_BUCKETS / COPSE_KERNEL_THREADS, arguments);
    if (status != COPSE_OK) return status;
    return copse_device_launch(device, device->main, &kernels->partition, (n + tile - 1) / tile, arguments);
}

copse_status copse_blink_bucket_sort_launch(const copse_index *index, const copse_blink_epoch *epoch,
                                            copse_blink_bucket_sorting *bucket_sorting, uint32_t *base_leaves,
                                            uint32_t one_of)
{
    copse_device *device = index->device;
    copse_bucket_sort_arguments *arguments = &bucket_sorting->arguments;
    arguments->tree = epoch->view; /* the pool may have grown meanwhile */
    arguments->one_of = one_of;
    arguments->out_base_leaves = base_leaves;
    return copse_device_launch(device, device->main, &copse_blink_kernels_of(index)->bucket_sort, arguments->buckets,
                               arguments);
}

void copse_blink_bucket_sort_free(const copse_index *index, copse_blink_bucket_sorting *bucket_sorting)
{
    copse_device_free(index->device, index->device->main, bucket_sorting->memory, bucket_sorting->bytes);
    bucket_sorting->memory = NULL;
}
