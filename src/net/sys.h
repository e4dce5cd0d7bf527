/* sys.h - bytes from and to a socket, without what the C library adds for threads that may be
 * cancelled: nobody cancels one here, and each call of it costs as much as a small function.
 *
 * As recv and send: -1 and errno if it fails. SIGPIPE never comes.
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
