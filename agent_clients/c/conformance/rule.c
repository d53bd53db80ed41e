#include "rule.h"

#include <math.h>
#include <string.h>

uint32_t rule_take(uint32_t memory, const void *bytes, uint64_t count)
{
    const uint8_t *byte = bytes;
    for (uint64_t i = 0; i < count; ++i) memory = memory * 16777619u + byte[i];
    return memory;
}

uint32_t rule_take_number(uint32_t memory, uint64_t number, int size)
{
    for (int i = 0; i < size; ++i) memory = memory * 16777619u + (uint8_t)(number >> 8 * i);
    return memory;
}

uint32_t rule_take_real(uint32_t memory, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return rule_take_number(memory, bits, 8);
}

uint32_t rule_draw(uint32_t memory, uint32_t number)
{
    uint32_t z = memory + number * 2654435769u;
    z = (z ^ z >> 16) * 2246822507u;
    z = (z ^ z >> 13) * 3266489909u;
    return z ^ z >> 16;
}

static double unbounded(uint32_t a, uint32_t b)
{
    return ((double)a - 2147483648.0) + (b % 2097152) / 2097152.0;
}

double rule_real(uint32_t memory, uint64_t element)
{
    uint32_t number = (uint32_t)element * 2;
    return unbounded(rule_draw(memory, number), rule_draw(memory, number + 1));
}

int rule_flag(uint32_t memory, uint64_t element)
{
    return rule_draw(memory, (uint32_t)element * 2) % 2 == 1;
}

/* Element i of the bounds, of which there are one or one for each element. */
static double bound(const double *bounds, uint64_t count, uint64_t i)
{
    return bounds[count == 1 ? 0 : i];
}

static int all_finite(const double *bounds, uint64_t count)
{
    for (uint64_t i = 0; i < count; ++i)
        if (!isfinite(bounds[i])) return 0;
    return count > 0;
}

static int is_bounded(const reglue_tensor *tensor)
{
    return tensor->domain == REGLUE_BOX && all_finite(tensor->low, tensor->lows) &&
           all_finite(tensor->high, tensor->highs);
}

static double real_element(const reglue_tensor *tensor, int bounded, uint64_t i, uint32_t a, uint32_t b)
{
    if (tensor->domain == REGLUE_MULTI_BINARY) return a % 2;
    if (!bounded) return unbounded(a, b);
    double low = bound(tensor->low, tensor->lows, i);
    double high = bound(tensor->high, tensor->highs, i);
    return low + (high - low) * ((a % 257) / 256.0);
}

/* Its lowest bits are the element's. */
static uint64_t whole_element(const reglue_tensor *tensor, uint64_t i, uint32_t a, uint32_t b)
{
    uint64_t w = a + ((uint64_t)b << 32);
    switch (tensor->domain) {
    case REGLUE_MULTI_BINARY: return a % 2;
    case REGLUE_DISCRETE: return (uint64_t)tensor->start + w % tensor->n[0];
    case REGLUE_MULTI_DISCRETE: return w % tensor->n[i];
    default: return tensor->dtype == REGLUE_BOOL ? a % 2 : w;
    }
}

static void put_whole(void *row, int32_t dtype, uint64_t i, uint64_t number)
{
    switch (dtype) {
    case REGLUE_BOOL:
    case REGLUE_UINT8:
    case REGLUE_INT8: ((uint8_t *)row)[i] = (uint8_t)number; break;
    case REGLUE_UINT16:
    case REGLUE_INT16: ((uint16_t *)row)[i] = (uint16_t)number; break;
    case REGLUE_UINT32:
    case REGLUE_INT32: ((uint32_t *)row)[i] = (uint32_t)number; break;
    default: ((uint64_t *)row)[i] = number;
    }
}

uint64_t rule_elements(uint32_t memory, const reglue_tensor *tensor, uint64_t first, void *row)
{
    int bounded = is_bounded(tensor);
    for (uint64_t i = 0; i < tensor->size; ++i) {
        uint32_t number = (uint32_t)(first + i) * 2;
        uint32_t a = rule_draw(memory, number), b = rule_draw(memory, number + 1);
        if (tensor->dtype == REGLUE_FLOAT64)
            ((double *)row)[i] = real_element(tensor, bounded, i, a, b);
        else if (tensor->dtype == REGLUE_FLOAT32)
            ((float *)row)[i] = (float)real_element(tensor, bounded, i, a, b);
        else
            put_whole(row, tensor->dtype, i, whole_element(tensor, i, a, b));
    }
    return first + tensor->size;
}

uint64_t rule_row(uint32_t memory, const reglue_tensor *tensors, uint32_t count, void *const *arrays,
                  uint64_t row)
{
    uint64_t made = 0;
    for (uint32_t i = 0; i < count; ++i) {
        char *array = arrays[i];
        if (tensors[i].size > 0)
            made = rule_elements(memory, &tensors[i], made, array + row * tensors[i].row_bytes);
    }
    return made;
}
