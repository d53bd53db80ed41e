#include "spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next word of `*rest`, cut off there; ends the program if there is no other word. */
static char *next_word(char **rest)
{
    char *word = *rest;
    if (!*word) {
        fputs("a line of a TaskSpec ends too early\n", stderr);
        exit(1);
    }
    char *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* How many numbers a list of words such as 84,84,3 has; "-" has none. */
static size_t list_length(const char *list)
{
    size_t count = 1;
    if (strcmp(list, "-") == 0) return 0;
    for (; *list; ++list) count += *list == ',';
    return count;
}

static double *read_reals(char *list, uint64_t *count)
{
    *count = list_length(list);
    double *numbers = must_allocate(*count * sizeof *numbers);
    for (uint64_t i = 0; i < *count; ++i, ++list) numbers[i] = strtod(list, &list);
    return numbers;
}

static uint64_t *read_counts(char *list, uint64_t *count)
{
    *count = list_length(list);
    uint64_t *numbers = must_allocate(*count * sizeof *numbers);
    for (uint64_t i = 0; i < *count; ++i, ++list) numbers[i] = strtoull(list, &list, 10);
    return numbers;
}

static void read_shape(reglue_tensor *tensor, char *list)
{
    tensor->axes = (uint32_t)list_length(list);
    uint32_t *shape = must_allocate(tensor->axes * sizeof *shape);
    for (uint32_t i = 0; i < tensor->axes; ++i, ++list) shape[i] = (uint32_t)strtoul(list, &list, 10);
    tensor->shape = shape;
}

static void read_domain(reglue_tensor *tensor, char *rest)
{
    const char *kind = next_word(&rest);
    if (strcmp(kind, "box") == 0) {
        tensor->domain = REGLUE_BOX;
        tensor->low = read_reals(next_word(&rest), &tensor->lows);
        tensor->high = read_reals(next_word(&rest), &tensor->highs);
    } else if (strcmp(kind, "discrete") == 0) {
        tensor->domain = REGLUE_DISCRETE;
        tensor->n = read_counts(next_word(&rest), &tensor->ns);
        tensor->start = strtoll(next_word(&rest), NULL, 10);
    } else if (strcmp(kind, "multi_discrete") == 0) {
        tensor->domain = REGLUE_MULTI_DISCRETE;
        tensor->n = read_counts(next_word(&rest), &tensor->ns);
    } else {
        tensor->domain = REGLUE_MULTI_BINARY;
    }
}

static void read_tensor(reglue_tensor *tensor, char *rest)
{
    tensor->name = next_word(&rest);
    tensor->dtype = text_dtype(next_word(&rest));
    read_shape(tensor, next_word(&rest));
    read_domain(tensor, rest);
}

static void read_task(reglue_spec *spec, char *rest)
{
    spec->reward_low = strtod(next_word(&rest), NULL);
    spec->reward_high = strtod(next_word(&rest), NULL);
    spec->discount = strtod(next_word(&rest), NULL);
    spec->horizon = (uint32_t)strtoul(next_word(&rest), NULL, 10);
    spec->continuing = *next_word(&rest) == '1';
    spec->rewards_in_evaluation = *next_word(&rest) == '1';
}

static void read_line(spec_words *to, char *rest)
{
    reglue_spec *spec = &to->spec;
    const char *kind = next_word(&rest);
    if (strcmp(kind, "task") == 0) {
        read_task(spec, rest);
    } else {
        read_tensor(&to->tensors[spec->observation_count + spec->action_count], rest);
        ++*(strcmp(kind, "action") == 0 ? &spec->action_count : &spec->observation_count);
    }
}

void spec_read(spec_words *to, const char *text)
{
    size_t lines = 1, bytes = strlen(text) + 1;
    spec_free(to);
    to->words = must_allocate(bytes);
    memcpy(to->words, text, bytes);
    for (const char *at = text; *at; ++at) lines += *at == '\n';
    to->tensors = must_allocate(lines * sizeof *to->tensors);
    for (char *line = to->words; line;) {
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        read_line(to, line);
        line = end ? end + 1 : NULL;
    }
    to->spec.observations = to->tensors;
    to->spec.actions = to->tensors + to->spec.observation_count;
}

void spec_free(spec_words *of)
{
    const reglue_spec nothing = REGLUE_SPEC_DEFAULTS;
    for (uint32_t i = 0; i < of->spec.observation_count + of->spec.action_count; ++i) {
        free((void *)of->tensors[i].shape);
        free((void *)of->tensors[i].low);
        free((void *)of->tensors[i].high);
        free((void *)of->tensors[i].n);
    }
    free(of->tensors);
    free(of->words);
    *of = (spec_words){NULL, NULL, nothing};
}
