/* config_start.h - whether `rationale serve` would start with a configuration.
 *
 * It tries each step of a start without its effects: it binds the address and releases it, opens
 * the store for reading, and opens the applications on an empty store in a temporary folder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

struct config_start_sink {
    /* `fix` may be "". */
    void (*on_problem)(void *ctx, const char *setting, const char *what, const char *fix);
    /* A start works, but not as the file says; or an obstacle that may disappear. */
    void (*on_warning)(void *ctx, const char *setting, const char *what);
    void *ctx;
};

void config_start_check(const char *path, const struct config *c,
                        const struct config_start_sink *sink);
