/* A TaskSpec, read from words as proto/CONFORMANCE.md has them. */
#ifndef REGLUE_CONFORMANCE_SPEC_H
#define REGLUE_CONFORMANCE_SPEC_H

#include "text.h"

typedef struct spec_words {
    char *words;            /* names point into it */
    reglue_tensor *tensors; /* observations, then actions */
    reglue_spec spec;
} spec_words;

/* Reads `text`, and forgets what it held before. Ends the program if it is no TaskSpec. */
void spec_read(spec_words *to, const char *text);

void spec_free(spec_words *of);

#endif
