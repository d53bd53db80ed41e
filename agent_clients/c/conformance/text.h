/* A text that grows. */
#ifndef REGLUE_CONFORMANCE_TEXT_H
#define REGLUE_CONFORMANCE_TEXT_H

#include "reglue.h"

typedef struct text {
    char *at;      /* NUL-terminated; NULL: nothing yet */
    size_t length;
    size_t capacity;
} text;

/* Adds words as printf writes them. Ends the program if memory runs out. */
void text_add(text *to, const char *format, ...);

/* Empties it. */
void text_clear(text *of);

void text_free(text *of);

/* Allocates, or ends the program. */
void *must_allocate(size_t bytes);

/* A TaskSpec as lines of words, as proto/CONFORMANCE.md says. */
void text_add_spec(text *to, const reglue_spec *spec);

/* The number of a dtype's name, such as "float32"; 0 if there is none. */
int32_t text_dtype(const char *name);

#endif
