/* A text that grows. */
#ifndef REGLUE_CONFORMANCE_TEXT_H
#define REGLUE_CONFORMANCE_TEXT_H

#include "reglue.h"

typedef struct text {
    char *at;      /* NUL-terminated; NULL: nothing yet */
    size_t length;
    size_t capacity;
} text;

/* Adds words as printf writes them. The program ends where there is no memory. */
void text_add(text *to, const char *format, ...);

/* Nothing is in it any more. */
void text_clear(text *of);

void text_free(text *of);

/* Memory, or the end of the program. */
void *must_allocate(size_t bytes);

/* A TaskSpec as lines of words, as proto/CONFORMANCE.md says. */
void text_add_spec(text *to, const reglue_spec *spec);

#endif
