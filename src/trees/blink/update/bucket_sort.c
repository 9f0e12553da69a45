/*
 * Bucket sort of large batches: the separators of the tree put them in order, instead of a sort. Two kernels do it, which also find all
 * that an update in place has to know. This is a speculation: that the keys of the batch are distributed over the base leaves of the
 * tree about evenly. A kernel notices where they are not before anything has changed.
 */
#include "trees/blink/update/strategies.h"

/* Smaller batches are for other strategies. */
#define LEAST (UINT64_C(1) << 17)
/* Operations of a bucket on average: as many as this, or fewer where the multiprocessors would not all have work, or where there are
 * many base leaves; more where there cannot be more buckets, up to some share of the room. */
#define BUCKET_AVERAGE       2048u
#define BUCKET_AVERAGE_LEAST 128u
#define BUCKET_AVERAGE_MOST  2432u
/* Room of a bucket beyond one and a half times the average: of a small average, random keys deviate further. */
#define ROOM_MORE 128u
/* Buckets at most. */
#define BUCKETS_MOST 2040u
/* Blocks that a multiprocessor should have. */
#define BLOCKS           2u
#define PARTITION_BLOCKS 2u
/* Children of a node. */
#define FANOUT 17u

/* Chooses how many buckets there are, their base leaves and their room. False: the tree has too many base leaves for buckets of these
 * operations, or too few. */
static bool buckets_choose(const copse_index *index, uint64_t base_leaves, uint64_t n, copse_bucket_sort_arguments *out)
{
    const size_t key = copse_type_size(index->key_type), value = copse_value_width(index->value_type);
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
    out->buckets = (uint32_t)((nodes + bucket_nodes - 1) / bucket_nodes);
    out->bucket_nodes = (uint32_t)bucket_nodes;
    out->bucket_base_leaves = (uint32_t)bucket_nodes * FANOUT;
    out->room = room < COPSE_BUCKET_SORT_ROOM ? (uint32_t)room : COPSE_BUCKET_SORT_ROOM;
    out->group_shift = 0;
    /* Not many more groups than operations; and the base leaf behind the last of the bucket may have some, too. */
    while ((bucket_nodes * FANOUT >> out->group_shift) >= groups_most ||
           (bucket_nodes * FANOUT >> out->group_shift) > 3 * each)
        out->group_shift++;
    return bucket_nodes <= nodes_most && each <= BUCKET_AVERAGE_MOST;
}

static bool may(const copse_blink_update *u)
{
    const copse_device_levels *levels = &u->epoch->view.levels;
    const uint64_t n = u->pairs.n, tuned = u->tree->tuning.bucket_sort_least, least = tuned ? tuned : LEAST;
    const bool short_separators = levels->digest || copse_type_size(u->index->key_type) == 4;
    copse_bucket_sort_arguments ignored;
    if (u->sorted || !copse_blink_in_place_may(u) || !short_separators || levels->height == 0) return false;
    if (!u->forced && (n < least || u->tree->predictor.ascending || u->tree->crowds)) return false;
    return buckets_choose(u->index, u->epoch->view.base_leaves, n, &ignored) &&
           (u->forced || copse_predictor_ask(&u->tree->bucket_sorted));
}

/* Words for the ticket, as many as keep what follows them aligned. */
#define WORDS_MORE 32u

/* Takes the memory of the kernels: the words that each bucket has, the buckets, and arrays for the batch in order. */
static copse_status memory_take(const copse_index *index, copse_blink_bucket_sorting *sorting)
{
    copse_device *device = index->device;
    copse_bucket_sort_arguments *arguments = &sorting->arguments;
    copse_device_pairs *made = &sorting->made;
    const bool erases = arguments->operations.action == COPSE_ACTION_ERASE;
    const uint64_t each = COPSE_PARTITION_BYTES(copse_type_size(index->key_type), copse_value_width(index->value_type));
    const uint64_t words = 3 * COPSE_BUCKET_SORT_BUCKETS + WORDS_MORE;
    sorting->bytes = words * sizeof(uint32_t) + (uint64_t)arguments->buckets * arguments->room * each;
    copse_status status =
        copse_device_alloc(device, device->main, sorting->bytes, "sorting the batch", &sorting->memory);
    if (status != COPSE_OK) return status;
    arguments->cursors = sorting->memory;
    arguments->boundaries = arguments->cursors + COPSE_BUCKET_SORT_BUCKETS;
    arguments->bases = arguments->boundaries + COPSE_BUCKET_SORT_BUCKETS;
    arguments->ticket = arguments->bases + COPSE_BUCKET_SORT_BUCKETS;
    arguments->partitions = arguments->cursors + words;
    status =
        copse_device_pairs_room(index, made, made->n, &arguments->out_keys, erases ? NULL : &arguments->out_values);
    made->keys = arguments->out_keys;
    made->values = arguments->out_values;
    return status;
}

copse_status copse_blink_partition_launch(copse_blink_update *u, copse_bucket_sort_arguments *arguments)
{
    copse_device *device = u->index->device;
    const copse_blink_kernels *kernels = copse_blink_kernels_of(u->index);
    const uint64_t n = arguments->operations.n, block = kernels->partition.threads, most = COPSE_PARTITION_TILE / block;
    const uint64_t threads = device->multiprocessors * PARTITION_BLOCKS * block, each = (n + threads - 1) / threads;
    arguments->tree = u->epoch->view;
    arguments->each = (uint32_t)(each < most ? each : most); /* few: else some multiprocessors would have none */
    arguments->counters = u->epoch->counters;
    const uint64_t tile = arguments->each * block;
    copse_status status = copse_device_launch(device, device->main, &kernels->partition_bounds,
                                              COPSE_BUCKET_SORT_BUCKETS / COPSE_KERNEL_THREADS, arguments);
    if (status != COPSE_OK) return status;
    return copse_device_launch(device, device->main, &kernels->partition, (n + tile - 1) / tile, arguments);
}

copse_status copse_blink_bucket_sort_launch(copse_blink_update *u, copse_bucket_sort_arguments *arguments,
                                            uint32_t *base_leaves, uint32_t one_of)
{
    arguments->tree = u->epoch->view; /* the host may have made the pool larger */
    arguments->one_of = one_of;
    arguments->out_base_leaves = base_leaves;
    return copse_device_launch(u->index->device, u->index->device->main, &copse_blink_kernels_of(u->index)->bucket_sort,
                               arguments->buckets, arguments);
}

/* Tries it with the raw pairs of the batch. Where these are in order then, but did not go in place, they are what the batch is now: the
 * next strategy need not sort. */
static copse_status attempt(copse_blink_update *u, copse_blink_bucket_sorting *sorting)
{
    copse_status status = memory_take(u->index, sorting);
    if (status == COPSE_OK) status = copse_progress(u->index->ctx, u->what, u->pairs.n / 3 * 2, u->pairs.n);
    if (status == COPSE_OK) status = copse_blink_in_place_attempt(u, &sorting->made, sorting);
    if (status != COPSE_OK) return status;
    u->tree->predictor.ascending = u->tree->bucket_sorted.ascending;
    if (u->attempt != TOO_MANY_EQUALS && u->attempt != CROWDED && u->attempt != TOO_MANY_SPLITS) return COPSE_OK;
    copse_device_pairs_free(u->index, &u->pairs);
    u->pairs = sorting->made;
    u->sorted = true;
    sorting->made = (copse_device_pairs){0};
    return COPSE_OK;
}

static int run(copse_blink_update *u)
{
    copse_kept_error kept;
    copse_status status = copse_blink_update_bring(u);
    if (status != COPSE_OK) return status;
    const bool all = u->index->duplicates && u->action == COPSE_ACTION_UPSERT; /* count */
    copse_blink_bucket_sorting sorting = {
        .made = {.n = u->pairs.n, .key_type = copse_device_pairs_type(u->index), .predictor = &u->tree->bucket_sorted},
        .arguments.operations = {.keys = u->pairs.keys,
                                 .values = u->pairs.values,
                                 .action = u->action,
                                 .last_wins = all ? 2 : u->action != COPSE_ACTION_IF_ABSENT,
                                 .n = u->pairs.n}};
    (void)buckets_choose(u->index, u->epoch->view.base_leaves, u->pairs.n, &sorting.arguments);
    copse_error_keep(&kept);
    status = attempt(u, &sorting);
    copse_device_free(u->index->device, u->index->device->main, sorting.memory, sorting.bytes);
    copse_device_pairs_free(u->index, &sorting.made);
    if (status == COPSE_ERR_MEMORY) copse_error_put_back(&kept); /* other strategies need less */
    return status == COPSE_ERR_MEMORY || (status == COPSE_OK && u->attempt != APPLIED) ? COPSE_DECLINED : (int)status;
}

const copse_blink_strategy copse_blink_bucket_sort = {"bucket-sort", may, run};
