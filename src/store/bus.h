/* bus.h - short messages between the daemons of one PostgreSQL database, by LISTEN and NOTIFY.
 *
 *     struct bus *b = bus_new(url, daemon_id, channel, log);
 *     bus_on(b, STR("limits"), on_limits, ctx);      before the start
 *     bus_start(b);
 *     bus_send(b, STR("limits"), text);              any thread; never waits
 *     bus_send_later(b, STR("talk"), text);
 *     bus_free(b);
 *
 * One thread has one connection, which listens and publishes. Messages leave in groups, at most one
 * group every BUS_GROUP_MS, and only while another daemon is alive. A group of one message costs as
 * much as one of many: it wakes all daemons and a process of PostgreSQL for each. So bus_send_later
 * adds a message to the next group, and a group leaves BUS_LATER_MS after the last one if nothing
 * else is due. A message may be lost: if the queue is full, if the connection was lost, if the
 * reader was not connected. The next message of the same sender then reports a gap. So a message
 * may only hint at what the tables have, or carry a state that the next message replaces.
 *
 * Daemons know each other by the bus itself: each says hello once a second; one that was silent for
 * BUS_SILENT_MS is gone. A daemon that starts again is another peer.
 *
 * All functions accept a NULL bus, which has no peers: the store is not PostgreSQL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/log.h"

#define BUS_GROUP_MS 50
#define BUS_LATER_MS 100
#define BUS_HELLO_MS 1000
#define BUS_SILENT_MS 4000
#define BUS_PAYLOAD_MAX 7900            /* bytes of a NOTIFY; PostgreSQL allows 7999 */
#define BUS_TEXT_MAX ((size_t)1 << 20)  /* of a message, which may take several payloads */
#define BUS_QUEUE_MAX ((size_t)4 << 20) /* bytes that wait to be sent; more is dropped */
#define BUS_TOPICS_MAX 16
#define BUS_TOPIC_SIZE_MAX 16
#define BUS_PEERS_MAX 64

struct bus;

/* Another daemon. Its number is below BUS_PEERS_MAX and is reused after it is gone. */
struct bus_peer {
    unsigned number;
    str daemon; /* its id; lent */
    bool again; /* the same process had this number before: it was only silent */
};

/* channel: a name that only the daemons know, up to 52 letters and digits. PostgreSQL lets every
 * role of the database listen to a channel and send to it. */
struct bus *bus_new(str url, str daemon, str channel, struct log *log);
void bus_start(struct bus *b);
void bus_free(struct bus *b); /* tells the others that it is gone */

/* A message of another daemon. All functions below are called on the thread of the bus: they may
 * not block. Register them before the start. */
void bus_on(struct bus *b, str topic, void (*fn)(void *ctx, const struct bus_peer *from, str text),
            void *ctx);
enum bus_event { BUS_PEER_NEW, BUS_PEER_GAP, BUS_PEER_GONE };
/* A daemon came, went, or some of its messages were lost. */
void bus_on_peer(struct bus *b,
                 void (*fn)(void *ctx, const struct bus_peer *who, enum bus_event event),
                 void *ctx);
/* Before each group, and at least once in BUS_HELLO_MS: it may send. */
void bus_on_group(struct bus *b, void (*fn)(void *ctx), void *ctx);

/* To all other daemons. The text is UTF-8 without NUL; another, or one larger than BUS_TEXT_MAX, is
 * dropped like one that finds the queue full. */
void bus_send(struct bus *b, str topic, str text);
void bus_send_later(struct bus *b, str topic, str text);
/* The next group is due: a sender has something for it. */
void bus_wake(struct bus *b);
/* How many other daemons are alive. */
unsigned bus_peers(const struct bus *b);
