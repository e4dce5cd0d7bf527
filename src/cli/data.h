/* data.h - where commands find the record: a configuration, or the user's data folder.
 *
 * The first of these that is there: --config FILE; ./rationale.yaml; rationale.yaml in the data
 * folder; else the built-in configuration, whose store is in the data folder. The data folder is
 * $XDG_DATA_HOME/rationale, or ~/.local/share/rationale.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

/* The file to load, absolute. Without a file, `text` is the built-in configuration and `path` its
 * name in messages. `text` points into the struct: do not copy it. */
struct data_place {
    char path[FILE_PATH_MAX];
    char builtin[1024];
    str text;
};

/* The built-in configuration has one key, with role operator: the gateway that `watch` starts is
 * for its user alone. The key is in the file DATA_KEY of the data folder, for the user to read. */
#define DATA_KEY "watch.key"
#define DATA_KEY_SIZE 128

/* Creates the data folder and the key, unless they exist. */
bool data_make_key(struct err *e) MUST_USE;
/* The key, if the configuration knows it; else false. */
bool data_key(const struct config *c, char out[DATA_KEY_SIZE]);

/* False: there is neither a home nor XDG_DATA_HOME. The folder need not exist. */
bool data_folder(char out[FILE_PATH_MAX], struct err *e) MUST_USE;
bool data_find(const char *given, struct data_place *out, struct err *e) MUST_USE;
bool data_load(const struct data_place *p, struct config **out, struct err *e) MUST_USE;
/* Both of the above. For commands that read: an error if nothing was ever recorded in the data
 * folder. */
bool data_config(const char *given, struct config **out, struct err *e) MUST_USE;

/* For a command that writes to the store, which first takes in what an earlier process left. Lends
 * the configuration. */
struct store_options data_store_options(struct config *c);
