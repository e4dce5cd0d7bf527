/* embed.h - files that are part of the program.
 *
 *     extern const struct embed page_files[];      made by tools/embed page_files FILE...
 *     extern const size_t page_files_count;
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct embed {
    const char *name;  /* without its folder, or its path in example/ or in the manual */
    const char *bytes; /* followed by a NUL that the size does not count, unless they are packed */
    size_t size;
    const char *digest; /* the first digits of its SHA-256, in hex */
};

extern const struct embed page_files[]; /* of the dashboard, packed with gzip */
extern const size_t page_files_count;
extern const struct embed manual_files[]; /* pages of docs/ as HTML, packed: tools/manual/build */
extern const size_t manual_files_count;
extern const struct embed demo_files[]; /* of the demo: example/demo, packed with gzip */
extern const size_t demo_files_count;
extern const struct embed orders_files[]; /* the schema of menus, and a menu, packed */
extern const size_t orders_files_count;
extern const struct embed openapi_files[]; /* of the API: src/serve/openapi.json, packed */
extern const size_t openapi_files_count;
