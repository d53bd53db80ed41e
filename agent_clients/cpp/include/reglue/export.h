// What the shared library shows: all else in it is hidden.
#pragma once

#define REGLUE_API __attribute__((visibility("default")))
