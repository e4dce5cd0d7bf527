/* net_peer.h - the other end of a connection, for tests: plain sockets that do as they are told.
 *
 *     int listener = peer_listen(&port);
 *     int fd = peer_accept(listener);
 *     peer_send(fd, "HTTP/1.1 200 OK\r\n\r\n");
 *     peer_reset(fd);
 *
 * All of them block and fail the test if the system does. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <netinet/in.h>
#include <pthread.h>

/* On 127.0.0.1, on a port that was free. */
int peer_listen(unsigned *port);
/* The same, but it refuses who connects. The port stays taken, so that no socket can get it and
 * connect to itself. */
int peer_refuse(unsigned *port);
struct sockaddr_in peer_address(unsigned port);
int peer_accept(int listener);
int peer_connect(unsigned port);
void peer_send(int fd, str bytes);
/* One byte a segment. */
void peer_drip(int fd, str bytes);
/* Reads until `end` stands in what came, at most size bytes; how many. 0: closed before. */
size_t peer_read_until(int fd, const char *end, char *bytes, size_t size);
/* Reads until the other side closes; how many bytes, or -1 if it was reset. */
long peer_read_all(int fd);
/* For threads that leave their sockets to OpenSSL, which writes without care. */
void peer_no_sigpipe(void);
/* Closes with a RST. */
void peer_reset(int fd);

/* A thread between a client and a server that hands on one byte at a time, both ways. */
struct peer_relay {
    int listener;
    unsigned port, server_port;
    pthread_t thread;
};

void peer_relay_start(struct peer_relay *r, unsigned server_port);
void peer_relay_join(struct peer_relay *r);
