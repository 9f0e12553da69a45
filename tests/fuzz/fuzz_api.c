/* A byte string drives a sequence of operations on an index; every answer is compared with the model's.
 *
 *   byte 0      structure, duplicates, threads, own allocator; on the emulated device the upper three bits are the structure
 *   byte 1      key type; from 224 on: the emulated device, and where the arrays lie
 *   byte 2      value type, caller's stream, order of warps, and with it the ways in which updates go
 *   then per operation: kind, number of elements, options, and for each element a byte or nine for the key (and one for
 *   the value or the width of the range, which modulo 5 is also the operation in a mixed batch). Missing bytes read as 0, so that every string is a valid sequence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"
#include "trees.h"

#define MOST_OPERATIONS 64
#define MOST_ELEMENTS   200

struct input {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

static uint8_t next_byte(struct input *input)
{
    return input->at < input->size ? input->bytes[input->at++] : 0;
}

static uint64_t next_code(struct input *input, copse_type type)
{
    uint64_t low = typed_lowest_code(type), high = typed_highest_code(type), zero = typed_zero_code(type);
    uint8_t byte = next_byte(input);
    uint64_t code = 0;
    if (byte < 0x60) return low + byte;
    if (byte < 0xa0) return zero + byte - 0x80;
    if (byte < 0xf0) return high - (0xef - byte);
    for (int i = 0; i < 8; i++) code = code << 8 | next_byte(input);
    if (typed_size(type) == 4) code &= UINT64_C(0xffffffff);
    return code < low ? low : code > high ? high : code;
}

static uint64_t next_value(struct input *input, copse_type type)
{
    uint8_t byte = next_byte(input);
    if (byte < 0x80) return typed_position_bits(type, byte);
    if (byte < 0xc0) return typed_bits_of_code(type, typed_highest_code(type) - (byte - 0x80));
    return typed_bits_of_code(type, typed_lowest_code(type) + (byte - 0xc0));
}

static void next_operation(struct input *input, const struct subject_config *config, struct operation *operation)
{
    bool device = config->placement == COPSE_PLACEMENT_EMULATED;
    /* What came later has bytes of its own, so that the files of the corpus do what they did before. */
    const uint8_t which = next_byte(input);
    enum operation_kind kind = (enum operation_kind)(which % OPERATION_SAVE_LOAD);
    if (kind >= OPERATION_ERASE_RANGE) kind++;
    if (which >= 0xe8) kind = OPERATION_ERASE_RANGE;
    if (which >= 0xf7 && which < 0xfc) kind = OPERATION_FIND_ALL + (which - 0xf7);
    if (which >= 0xfc) kind = OPERATION_MAP;
    if (kind == OPERATION_SAVE_LOAD) kind = OPERATION_MOVE; /* no files */
    uint64_t n = next_byte(input) % MOST_ELEMENTS;
    uint8_t options = next_byte(input);
    operation_init(operation, kind, operation_has_keys(kind) ? n : 0);
    if (device) operation->places = next_byte(input) * UINT32_C(0x01010101);
    operation->fail_device = device && !config->own_allocator;
    operation->omit = options & 15;
    operation->ends = options & OPERATION_ALL_ENDS;
    operation->limit = kind == OPERATION_APPLY ? options == 0xfe : options >> 4;
    if (kind == OPERATION_SAVE_MEMORY) operation->limit = 0; /* not as another structure */
    if (options == 0xff) operation->nan_at = (int64_t)n / 2;
    if ((options & 0xf0) == 0xe0) operation->fail_at = options & 15;
    if ((options & 0xfc) == 0xd0 && operation_updates(kind)) operation->cancel_at = options & 3;
    /* a run of neighbours from a few bytes: trees need many keys, inputs should stay short */
    bool run = (options & 0xc0) == 0x40;
    uint64_t start = run ? next_code(input, config->key_type) : 0;
    for (uint64_t i = 0; i < operation->n; i++) {
        uint64_t high = typed_highest_code(config->key_type);
        operation->first[i] = !run ? next_code(input, config->key_type) : high - start < i ? high : start + i;
        if (!operation->second) continue;
        if (operation->codes && !run) operation->codes[i] = input->at < input->size ? input->bytes[input->at] % 5 : 0;
        if (operation_has_bounds(kind))
            operation->second[i] = next_code(input, config->key_type);
        else
            operation->second[i] =
                run ? typed_position_bits(config->value_type, i) : next_value(input, config->value_type);
    }
}

static void check(bool right, const struct subject *subject, const char *what)
{
    if (right) return;
    (void)fprintf(stderr, "%s (structure %d on %s, key %s, value %s, duplicates %d, threads %u): %s\n", what,
                  (int)subject->config.structure, copse_placement_name(subject->config.placement),
                  typed_name(subject->config.key_type), typed_name(subject->config.value_type),
                  subject->config.duplicates, subject->config.threads, subject->why);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const isas[] = {"scalar", NULL};
    struct input input = {bytes, size, 0};
    uint8_t shape = next_byte(&input);
    struct subject_config config = {.placement = COPSE_PLACEMENT_CPU,
                                    .duplicates = (shape & 2) != 0,
                                    .threads = shape & 4 ? 2 : 1,
                                    .own_allocator = (shape & 8) != 0,
                                    .isa = isas[shape >> 4 & 1],
                                    .pipeline = shape >> 5,
                                    .huge_pages = COPSE_HUGE_PAGES_OFF};
    uint8_t place = next_byte(&input), value = next_byte(&input);
    config.key_type = typed_key_types[place % TYPED_KEY_TYPES];
    config.value_type = value >= 0xf0 ? COPSE_NONE : typed_value_types[value % TYPED_VALUE_TYPES];
    unsigned which = place / TYPED_KEY_TYPES * 2 + (shape & 1);
    if (place >= 0xe0) { /* seldom: the emulator is slow */
        config.placement = COPSE_PLACEMENT_EMULATED;
        which = shape >> 5;
        config.memory = (enum placed_memory)(place >> 3 & 3);
        config.stream = value / TYPED_VALUE_TYPES % 2;
        config.simt_seed = value / TYPED_VALUE_TYPES / 2;
        config.ways = (uint32_t)config.simt_seed % 9;
    }
    /* Trees come in the order of their numbers, so that the files of the corpus reach the same ones when there are more. */
    const struct trees trees = trees_that(config.placement, COPSE_CAN_EXIST);
    config.structure = trees.structure[which % trees.n];
    if (!copse_supports(config.structure, config.placement, config.key_type, COPSE_CAN_KEEP_DUPLICATES))
        config.duplicates = false;
    struct subject subject;
    check(subject_open(&subject, &config), &subject, "open");
    for (int i = 0; i < MOST_OPERATIONS && input.at < input.size; i++) {
        struct operation operation;
        next_operation(&input, &config, &operation);
        check(subject_run(&subject, &operation), &subject, operation_name(operation.kind));
        operation_free(&operation);
    }
    check(subject_close(&subject), &subject, "close");
    return 0;
}
