/* watch_clients.h - how each coding agent learns the address of its provider.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define WATCH_VARIABLES_MAX 8

/* A value with the address of an upstream, which replaces %s in `value`. Text after %s is a path
 * that the agent expects in its address, and that the upstream's address does not have. */
struct watch_setting {
    const char *name;     /* the variable, or the argument before the value ("-c") */
    const char *upstream; /* gateway/watched.h; NULL: `value` is a list: watch_providers_json */
    const char *value;
    const char *needs; /* set only if this variable is set; or NULL */
};

struct watch_client {
    const char *name;                                    /* also the program; NULL: any command */
    const char *summary;                                 /* for help */
    struct watch_setting variables[WATCH_VARIABLES_MAX]; /* until a name is NULL */
    struct watch_setting arguments[2];                   /* likewise; before the user's own */
};

/* The row of a name, or NULL; the row of any command for NULL. Names by index: NULL after the
 * last. */
const struct watch_client *watch_client_find(const char *name);
const char *watch_client_name(size_t index);

/* The settings of opencode: a base URL for each provider that it has a name for. `root` is the
 * address of the run. */
void watch_providers_json(const char *root, struct buf *out);

/* What to do about an exit status of the agent, or NULL. */
const char *watch_client_hint(const struct watch_client *c, int status);
