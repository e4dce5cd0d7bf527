/* net_peer.h - the other end of a connection, for tests: plain blocking sockets.
 *
 *     int listener = peer_listen(&port);
 *     int fd = peer_accept(listener);
 *     peer_send(fd, "HTTP/1.1 200 OK\r\n\r\n");
 *     peer_reset(fd);
 *
 * All of them fail the test if a system call fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <netinet/in.h>
#include <pthread.h>

/* Listens on 127.0.0.1, on a free port. */
int peer_listen(unsigned *port);
/* Binds a free port that refuses connections. It stays bound, so no socket can get it and connect
 * to itself. */
int peer_refuse(unsigned *port);
struct sockaddr_in peer_address(unsigned port);
int peer_accept(int listener);
int peer_connect(unsigned port);
void peer_send(int fd, str bytes);
/* Sends one byte per segment. */
void peer_drip(int fd, str bytes);
/* Reads until `end` arrives, at most size bytes; returns their number, 0 if closed before. */
size_t peer_read_until(int fd, const char *end, char *bytes, size_t size);
/* Reads until the peer closes; returns the number of bytes, or -1 after a RST. */
long peer_read_all(int fd);
/* Blocks SIGPIPE in threads whose sockets OpenSSL writes: it does not use MSG_NOSIGNAL. */
void peer_no_sigpipe(void);
/* Closes with a RST. */
void peer_reset(int fd);

/* A thread that forwards bytes between a client and a server one at a time, in both directions. */
struct peer_relay {
    int listener;
    unsigned port, server_port;
    pthread_t thread;
};

void peer_relay_start(struct peer_relay *r, unsigned server_port);
void peer_relay_join(struct peer_relay *r);
