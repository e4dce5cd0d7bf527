/* cassette_writer.c - a queue of lines and the thread that writes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette_writer.h"

#include "base/file.h"
#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct item {
    struct item *next;
    size_t path_n, head_n, line_n;
    char bytes[]; /* path and its NUL, head, line */
};

struct cassette_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct item *first, *last;
    size_t size;
    bool over;
};

static void cassette_writer_write_item(const struct item *it)
{
    struct file_out out;
    struct stat st;
    struct err e;
    int fd = open(it->bytes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0) {
        err_sys(&e, "open %s", it->bytes);
        log_error("a recording was lost", LOG_ERR(&e));
        return;
    }
    file_out_init(&out, fd);
    if (fstat(fd, &st) == 0 && st.st_size == 0)
        file_out_add(&out, (str){it->bytes + it->path_n + 1, it->head_n});
    file_out_add(&out, (str){it->bytes + it->path_n + 1 + it->head_n, it->line_n});
    if (!file_out_finish(&out, it->bytes, &e))
        log_error("a recording was lost", LOG_ERR(&e));
    close(fd);
}

static void *cassette_writer_run(void *arg)
{
    struct cassette_writer *s = arg;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct item *it = s->first;

        if (!it && s->over)
            break;
        if (!it) {
            pthread_cond_wait(&s->more, &s->lock);
            continue;
        }
        s->first = it->next;
        if (!s->first)
            s->last = NULL;
        assert(s->size >= it->line_n);
        s->size -= it->line_n;
        pthread_mutex_unlock(&s->lock);
        cassette_writer_write_item(it);
        free(it);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct cassette_writer *cassette_writer_new(void)
{
    struct cassette_writer *s = base_alloc(sizeof *s);

    *s = (struct cassette_writer){0};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    if (pthread_create(&s->thread, NULL, cassette_writer_run, s) != 0)
        base_die("no thread could be started");
    return s;
}

void cassette_writer_free(struct cassette_writer *s)
{
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->more);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void cassette_writer_add(struct cassette_writer *s, str path, str head, str line)
{
    struct item *it = base_alloc(sizeof *it + path.n + 1 + head.n + line.n);
    bool fits;

    *it = (struct item){.path_n = path.n, .head_n = head.n, .line_n = line.n};
    memcpy(it->bytes, path.p, path.n);
    it->bytes[path.n] = '\0';
    memcpy(it->bytes + path.n + 1, head.p, head.n);
    memcpy(it->bytes + path.n + 1 + head.n, line.p, line.n);
    pthread_mutex_lock(&s->lock);
    fits = s->size + line.n <= CASSETTE_WRITER_MAX;
    if (fits) {
        assert(!s->first == !s->last && !s->over);
        s->size += line.n;
        LIST_APPEND(s->first, s->last, it);
        pthread_cond_signal(&s->more);
    }
    pthread_mutex_unlock(&s->lock);
    if (!fits) {
        log_error("a recording was lost: the queue is full", LOG_STR("file", path));
        free(it);
    }
}
