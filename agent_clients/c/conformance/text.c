#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check_memory(void *memory)
{
    if (memory) return memory;
    fputs("out of memory\n", stderr);
    exit(1);
}

void *must_allocate(size_t bytes)
{
    return check_memory(calloc(bytes + 1, 1));
}

void text_add(text *to, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    int more = vsnprintf(NULL, 0, format, words);
    va_end(words);
    if (to->length + (size_t)more + 1 > to->capacity) {
        to->capacity = 2 * (to->length + (size_t)more + 1);
        to->at = check_memory(realloc(to->at, to->capacity));
    }
    va_start(words, format);
    vsnprintf(to->at + to->length, (size_t)more + 1, format, words);
    va_end(words);
    to->length += (size_t)more;
}

void text_clear(text *of)
{
    of->length = 0;
    text_add(of, "");
    of->at[0] = '\0';
}

void text_free(text *of)
{
    free(of->at);
    of->at = NULL;
    of->length = of->capacity = 0;
}

static const char *const dtypes[] = {"",     "bool",  "uint8", "uint16", "uint32",  "uint64",
                                     "int8", "int16", "int32", "int64",  "float32", "float64"};

int32_t text_dtype(const char *name)
{
    for (int32_t dtype = REGLUE_BOOL; dtype <= REGLUE_FLOAT64; ++dtype)
        if (strcmp(name, dtypes[dtype]) == 0) return dtype;
    return 0;
}

static void add_reals(text *to, const double *numbers, uint64_t count)
{
    text_add(to, count ? " " : " -");
    for (uint64_t i = 0; i < count; ++i) text_add(to, i ? ",%.17g" : "%.17g", numbers[i]);
}

static void add_counts(text *to, const uint64_t *numbers, uint64_t count)
{
    text_add(to, count ? " " : " -");
    for (uint64_t i = 0; i < count; ++i) text_add(to, i ? ",%llu" : "%llu", (unsigned long long)numbers[i]);
}

static void add_domain(text *to, const reglue_tensor *tensor)
{
    switch (tensor->domain) {
    case REGLUE_BOX:
        text_add(to, " box");
        add_reals(to, tensor->low, tensor->lows);
        add_reals(to, tensor->high, tensor->highs);
        break;
    case REGLUE_DISCRETE:
        text_add(to, " discrete %llu %lld", (unsigned long long)tensor->n[0], (long long)tensor->start);
        break;
    case REGLUE_MULTI_DISCRETE:
        text_add(to, " multi_discrete");
        add_counts(to, tensor->n, tensor->ns);
        break;
    default: text_add(to, " multi_binary");
    }
}

static void add_tensors(text *to, const char *kind, const reglue_tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        const reglue_tensor *tensor = &tensors[i];
        text_add(to, "\n%s %s %s", kind, tensor->name, dtypes[tensor->dtype]);
        text_add(to, tensor->axes ? " " : " -");
        for (uint32_t axis = 0; axis < tensor->axes; ++axis)
            text_add(to, axis ? ",%u" : "%u", (unsigned)tensor->shape[axis]);
        add_domain(to, tensor);
    }
}

void text_add_spec(text *to, const reglue_spec *spec)
{
    text_add(to, "task %.17g %.17g %.17g %u %d %d %u", spec->reward_low, spec->reward_high, spec->discount,
             (unsigned)spec->horizon, spec->continuing, spec->rewards_in_evaluation, (unsigned)spec->slots);
    add_tensors(to, "observation", spec->observations, spec->observation_count);
    add_tensors(to, "action", spec->actions, spec->action_count);
}
