/* channel.h - how a channel of a thread's state combines its value with an update.
 *
 *     enum channel_kind kind;
 *     if (channel_kind_find(STR("append"), &kind) && channel_fold(kind, now, update, &out, e)) ...
 *
 * All values are JSON text; `now` is empty if the channel has no value yet. Unchanged parts are
 * kept byte for byte, so that a growing list differs from the one before only at its end.
 *
 *   last      the update replaces the value
 *   append    a list: appends the update's items, or the update itself if it is not a list
 *   messages  a list of objects: an item replaces the one with the same id; other items are
 *             appended; {"type": "remove", "id": X} removes X, and everything before itself if X
 *             is "__remove_all__"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

enum channel_kind { CHANNEL_LAST, CHANNEL_APPEND, CHANNEL_MESSAGES, CHANNEL_KIND_COUNT };

bool channel_kind_find(str name, enum channel_kind *out) MUST_USE;
/* Appends the new value to `out`. ERR_INPUT if it does not fit the kind: the current value is not a
 * list, an item is not an object, or a message to be removed does not exist. */
bool channel_fold(enum channel_kind kind, str now, str update, struct buf *out,
                  struct err *e) MUST_USE;
