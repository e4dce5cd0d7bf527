/* sys.h - recv and send without the cancellation points of the C library, which cost as much as a
 * small function; we never cancel threads.
 *
 * Like recv and send: -1 and errno on failure. No SIGPIPE.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline ssize_t sys_recv(int fd, void *to, size_t size)
{
    return syscall(SYS_recvfrom, fd, to, size, 0, NULL, NULL);
}

static inline ssize_t sys_send(int fd, const void *from, size_t size)
{
    return syscall(SYS_sendto, fd, from, size, MSG_NOSIGNAL, NULL, 0);
}
