/* common.h - what the two ends of the gateway's bench agree on: marks, clocks, sockets.
 *
 * The upstream (stub.c) and the clients (load.c) are processes of one machine, so a time of the
 * monotonic clock that one writes into an event can be read by the other. An event's text carries
 * it as '@' and 16 digits; in a burst these are its number. A request carries a number as "#n" and
 * 8 digits; a whole reply repeats it, so a client notices the reply of another client.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MARK_DIGITS 16
#define NONCE_DIGITS 8
#define NONCE_MARK "#n"
#define EVENTS 100 /* of a burst; a third of them is reasoning */
#define EVENTS_THINK 33
#define FLOOD_EVENTS 1000
#define PACE_NS 10000000u
#define ROUND_EVENTS 64 /* epoll's, a round */

#define SAMPLES_MAX (1u << 22)

struct samples {
    uint32_t *ns;
    size_t n;
};
void sample(struct samples *s, uint64_t ns);
/* As members of a JSON object that has begun: the median and the 99th of a hundred. */
void samples_print(const char *name, struct samples *s);

uint64_t now_ns(void);
void die(const char *what);
void put_digits(char *at, uint64_t n, int digits);
uint64_t read_digits(const char *at, int digits);
/* A socket on 127.0.0.1 that does not block; small: with a small receive buffer. */
int dial(unsigned port, bool small);
int listen_on(unsigned *port);
void quick(int fd);
