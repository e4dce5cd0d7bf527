/* live.h - shared by the files of live updates.
 *
 *   live.c          who may watch; the WebSocket
 *   live_stream.c   the same as server-sent events
 *   live_health.c   the state of the gateway, for viewers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

#define LIVE_USER_MAX 200

/* One viewer, over a WebSocket or a stream. */
struct live {
    struct worker *worker;
    struct hub_viewer *viewer;
    struct server_ws *ws; /* or NULL: */
    struct exchange *ex;  /* a stream */
    bool keyed;
    enum config_role role;
    enum config_show asked; /* by the header x-rationale-reasoning */
    bool hide;              /* its key may not see reasoning */
    uint8_t digest[32];     /* of its key, which must stay valid */
    uint64_t sent_ns;
    size_t user_size;
    char user[LIVE_USER_MAX];
};

/* Finds the key and what it may see. NULL: an error reply was sent. */
struct live *live_new(struct exchange *ex, bool socket);
void live_free(struct live *l);
/* Whether its key still has the same rights as at the start. */
bool live_may_stay(const struct live *l);
struct hub_scope live_scope(struct live *l, const struct config_key *key);
void live_refuse(struct exchange *ex, int status, const char *code, const char *message);

/* A message for this viewer only: {"type": type, members, "timestamp_us": ...}. */
void live_words(const struct live *l, const char *type, str members, struct buf *out);

/* live_stream.c */
void live_stream_leave(struct live *l);

/* live_health.c: members of a message of health. */
void live_health_words(struct daemon *d, struct buf *out);
