/* channel.h - how a channel of a thread's state takes in what is written to it.
 *
 *     enum channel_kind kind;
 *     if (channel_kind_find(STR("append"), &kind) && channel_fold(kind, now, update, &out, e)) ...
 *
 * All is JSON text; `now` is empty where the channel has no value yet. What stays is kept byte for
 * byte, so that a list that grows differs from the one before only at its end.
 *
 *   last      the update replaces the value
 *   append    a list: the update's items behind it, or the update itself if that is no list
 *   messages  a list of objects: an item with the id of one that is there takes its place; others
 *             are appended; {"type": "remove", "id": X} takes X away, and everything before itself
 *             if X is "__remove_all__"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum channel_kind { CHANNEL_LAST, CHANNEL_APPEND, CHANNEL_MESSAGES, CHANNEL_KIND_COUNT };

bool channel_kind_find(str name, enum channel_kind *out) MUST_USE;
/* The new value behind what is in out. ERR_INPUT if it does not fit the kind: the value that is
 * there is no list, an item is no object, a message to be removed is not there. */
bool channel_fold(enum channel_kind kind, str now, str update, struct buf *out,
                  struct err *e) MUST_USE;
