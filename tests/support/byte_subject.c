/* An index of byte strings and the model beside it: opening, choosing, comparing. */
#include "byte_subject.h"
#include "device/device.h"
#include "placed.h"
#include "trees/radix/gpu/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

copse_placement byte_device_placement = COPSE_PLACEMENT_EMULATED;

uint64_t byte_draw(struct byte_subject *subject, uint64_t bound)
{
    return subject->source.below(subject->source.user, bound);
}

void byte_differ(struct byte_subject *subject, const char *format, ...)
{
    if (subject->wrong) return; /* the first difference is the one that counts */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject->why, sizeof subject->why, format, arguments);
    va_end(arguments);
    subject->wrong = true;
}

void byte_arm(struct byte_subject *subject)
{
    subject->failures_before = atomic_load(&subject->allocator.failures);
    if (byte_draw(subject, 8) == 7)
        test_allocator_fail_after(&subject->allocator, (long long)byte_draw(subject, 6), byte_draw(subject, 2));
    subject->device_armed = subject->device && byte_draw(subject, 8) == 7;
    if (subject->device_armed) subject->device->allocations_left = (int64_t)byte_draw(subject, 6);
}

bool byte_went(struct byte_subject *subject, copse_status got, copse_status want)
{
    bool refused = atomic_load(&subject->allocator.failures) != subject->failures_before;
    test_allocator_never_fail(&subject->allocator);
    refused |= subject->device_small;
    if (subject->device_armed) {
        refused |= subject->device->allocations_left < 0;
        subject->device->allocations_left = -1;
        subject->device_armed = false;
    }
    if (got == COPSE_ERR_MEMORY && refused) return false;
    if (got == want) return true;
    byte_differ(subject, "status %s instead of %s: %s", copse_status_name(got), copse_status_name(want),
                got == COPSE_OK ? "" : copse_last_error(subject->ctx));
    return false;
}

void *byte_values(const struct byte_subject *subject, uint64_t n)
{
    const copse_type type = subject->model.value_type;
    return type == COPSE_NONE ? NULL : typed_new(type, n);
}

uint64_t *byte_codes(struct byte_subject *subject, uint64_t n)
{
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = byte_draw(subject, subject->pool->n);
    return codes;
}

struct byte_array byte_keys(struct byte_subject *subject, const uint64_t *codes, uint64_t n)
{
    const uint64_t shape = byte_draw(subject, 16);
    return byte_array_of(subject->pool, codes, n, shape & 1 ? 32 : 64, shape & 2 ? 5 : 0, shape & 4 ? 3 : 0);
}

/* --- room ------------------------------------------------------------------------------------------------------------ */

struct byte_room byte_room_of(struct byte_subject *subject, const uint64_t *codes, uint64_t n)
{
    struct byte_room room = {.kind = (enum byte_room_kind)byte_draw(subject, ROOM_KINDS)};
    const uint32_t bits = byte_draw(subject, 2) ? 32 : 64;
    for (uint64_t i = 0; i < n; i++)
        if (codes[i] != BYTE_ABSENT) room.needed += subject->pool->strings[codes[i]].n;
    if (room.kind == ROOM_SHORT && room.needed == 0) room.kind = ROOM_EXACT;
    const uint64_t size = room.kind == ROOM_SHORT   ? byte_draw(subject, room.needed)
                          : room.kind == ROOM_AMPLE ? room.needed + 9
                                                    : room.needed;
    room.array = byte_array_room(n, size, bits);
    if (room.kind == ROOM_SIZING || room.kind == ROOM_ONLY_NEEDED) {
        free(room.array.bytes.data);
        room.array.bytes.data = NULL;
        room.array.bytes.size = 0;
    }
    if (room.kind == ROOM_ONLY_NEEDED) {
        free(room.array.bytes.offsets);
        room.array.bytes.offsets = NULL;
    }
    room.array.bytes.needed = 77;
    return room;
}

void *byte_room_keys(struct byte_room *room)
{
    return room->kind == ROOM_NOT_WANTED ? NULL : &room->array.bytes;
}

copse_status byte_room_status(const struct byte_room *room)
{
    return room->kind == ROOM_SHORT ? COPSE_ERR_TOO_SMALL : COPSE_OK;
}

static void strings_check(struct byte_subject *subject, const copse_bytes *bytes, const uint64_t *codes, uint64_t n)
{
    int64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct byte_string none = {NULL, 0};
        const struct byte_string want = codes[i] == BYTE_ABSENT ? none : subject->pool->strings[codes[i]];
        if (byte_array_offset(bytes, i) != at) {
            byte_differ(subject, "offset %llu is %lld instead of %lld", (unsigned long long)i,
                        (long long)byte_array_offset(bytes, i), (long long)at);
            return;
        }
        at += (int64_t)want.n;
        if (byte_array_offset(bytes, i + 1) != at ||
            (bytes->data && byte_string_compare(byte_array_at(bytes, i), want) != 0))
            byte_differ(subject, "key %llu is not string %llu of the pool", (unsigned long long)i,
                        (unsigned long long)codes[i]);
    }
}

void byte_room_check(struct byte_subject *subject, struct byte_room *room, copse_status got, const uint64_t *codes,
                     uint64_t n)
{
    const copse_bytes *bytes = &room->array.bytes;
    if (room->kind != ROOM_NOT_WANTED && bytes->needed != room->needed)
        byte_differ(subject, "needed is %llu instead of %llu", (unsigned long long)bytes->needed,
                    (unsigned long long)room->needed);
    else if (got == COPSE_OK && room->kind != ROOM_NOT_WANTED && bytes->offsets)
        strings_check(subject, bytes, codes, n);
    byte_array_free(&room->array);
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

static void content_check(struct byte_subject *subject)
{
    const struct model *model = &subject->model;
    const uint64_t n = model->n;
    copse_bytes size = COPSE_BYTES_INIT(NULL, 0, NULL, 64);
    if (copse_verify(subject->index) != COPSE_OK) byte_differ(subject, "%s", copse_last_error(subject->ctx));
    if (copse_size(subject->index) != n) {
        byte_differ(subject, "%llu entries instead of %llu", (unsigned long long)copse_size(subject->index),
                    (unsigned long long)n);
        return;
    }
    if (copse_export(subject->index, &size, NULL, 0) != COPSE_OK)
        byte_differ(subject, "sizing: %s", copse_last_error(subject->ctx));
    uint64_t *codes = must_malloc(n * sizeof *codes);
    for (uint64_t i = 0; i < n; i++) codes[i] = model->entries[i].key;
    struct byte_array keys = byte_array_room(n, size.needed, 64);
    void *values = byte_values(subject, n);
    if (copse_export(subject->index, &keys.bytes, values, n) != COPSE_OK)
        byte_differ(subject, "export: %s", copse_last_error(subject->ctx));
    else if (n)
        strings_check(subject, &keys.bytes, codes, n);
    for (uint64_t i = 0; i < n && !subject->wrong; i++)
        if (typed_bits(model->value_type, values, i) != model->entries[i].value)
            byte_differ(subject, "value of entry %llu", (unsigned long long)i);
    byte_array_free(&keys);
    free(values);
    free(codes);
}

/* To verify an index takes memory of the device, which is not what an index on a small one is tested for here. */
void byte_check_content(struct byte_subject *subject)
{
    const uint64_t limit = subject->device_small ? subject->device->limit : 0;
    if (subject->device_small) subject->device->limit = UINT64_MAX;
    content_check(subject);
    if (subject->device_small) subject->device->limit = limit;
}

bool byte_has_ranks(struct byte_subject *subject)
{
    copse_stats stats = {.struct_size = sizeof stats};
    if (copse_index_stats(subject->index, &stats) != COPSE_OK) byte_differ(subject, "stats");
    return copse_supports((copse_structure)stats.structure, COPSE_PLACEMENT_CPU, COPSE_BYTES, COPSE_CAN_RANK);
}

/* Pieces of lookups that are smaller than batches, and now and then a device that will not have room for all leaves. */
static void byte_small_device(struct byte_subject *subject)
{
    copse_radix_device_of(subject->index)->piece = 1 + byte_draw(subject, 50);
    subject->device_small = byte_draw(subject, 3) == 0;
    if (subject->device_small)
        subject->device->limit = subject->device->allocated + (UINT64_C(5) << 18) + byte_draw(subject, 1u << 20);
}

bool byte_subject_open(struct byte_subject *subject, struct byte_source source, const struct byte_pool *pool,
                       uint64_t most)
{
    memset(subject, 0, sizeof *subject);
    subject->source = source;
    subject->pool = pool;
    subject->most = most;
    subject->operation = "open";
    const uint64_t type = byte_draw(subject, TYPED_VALUE_TYPES + 1);
    const copse_type value_type = type < TYPED_VALUE_TYPES ? typed_value_types[type] : COPSE_NONE;
    const bool duplicates = byte_draw(subject, 2);
    copse_ctx_options options = COPSE_CTX_OPTIONS_INIT;
    copse_index_options shape = COPSE_INDEX_OPTIONS_INIT;
    test_allocator_init(&subject->allocator);
    options.allocator = test_allocator_hooks(&subject->allocator);
    options.threads = 1 + (uint32_t)byte_draw(subject, 2);
    shape.key_type = COPSE_BYTES;
    shape.value_type = value_type;
    shape.duplicates = duplicates;
    static const copse_structure structures[] = {COPSE_STRUCTURE_AUTO, COPSE_STRUCTURE_SORTED, COPSE_STRUCTURE_RADIX};
    shape.structure = structures[byte_draw(subject, 3)];
    if (duplicates && !copse_supports(shape.structure, COPSE_PLACEMENT_CPU, COPSE_BYTES, COPSE_CAN_KEEP_DUPLICATES))
        shape.structure = COPSE_STRUCTURE_AUTO;
    const copse_placement placements[] = {COPSE_PLACEMENT_AUTO, COPSE_PLACEMENT_CPU, byte_device_placement};
    shape.placement = placements[byte_draw(subject, 3)];
    if (duplicates && shape.placement == byte_device_placement) shape.placement = COPSE_PLACEMENT_CPU;
    shape.long_keys = (uint32_t)byte_draw(subject, 4);
    if (shape.placement == byte_device_placement && shape.structure == COPSE_STRUCTURE_SORTED)
        shape.structure = COPSE_STRUCTURE_AUTO; /* that is radix */
    model_init(&subject->model, COPSE_U64, value_type, duplicates);
    if (copse_ctx_create(&options, &subject->ctx) != COPSE_OK ||
        copse_index_create(subject->ctx, &shape, &subject->index) != COPSE_OK)
        byte_differ(subject, "%s", copse_last_error(subject->ctx));
    if (!subject->wrong) subject->device = placed_device(subject->ctx, shape.placement);
    if (subject->device) byte_small_device(subject);
    return !subject->wrong;
}

bool byte_subject_step(struct byte_subject *subject)
{
    static void (*const runs[])(struct byte_subject *) = {byte_run_update, byte_run_point,  byte_run_update,
                                                          byte_run_range,  byte_run_cursor, byte_run_aggregate,
                                                          byte_run_whole,  byte_run_file,   byte_run_bad};
    runs[byte_draw(subject, sizeof runs / sizeof *runs)](subject);
    return !subject->wrong;
}

bool byte_subject_close(struct byte_subject *subject)
{
    subject->operation = "close";
    copse_index_free(subject->index);
    copse_ctx_free(subject->ctx);
    model_free(&subject->model);
    if (!test_allocator_is_clean(&subject->allocator)) byte_differ(subject, "memory is not freed, or freed wrongly");
    return !subject->wrong;
}
