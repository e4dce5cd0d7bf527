/* query_waiting.c - whether a journal has records that are not in the tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/journal.h"
#include "store/query_build.h"

/* Where the journal with this name goes on after the tables; its start if they have none of it. */
static bool waiting_read_place(struct reader *r, str name, struct journal_place *out, struct err *e)
{
    *out = (struct journal_place){0, 0};
    return db_query(r->db,
                    "SELECT segment, place FROM store_progress WHERE spool IN ($1, '')",
                    DB_ARGS(db_text(name)),
                    DB_ROW(db_into_u64(&out->segment), db_into_u64(&out->offset)),
                    e);
}

static bool waiting_has_frame(const char *dir, const struct segment *s, uint64_t from)
{
    enum segment_got got = SEGMENT_END;
    struct segment_reader reader;
    struct segment_hole hole;
    struct frame frame;
    struct err e;

    segment_reader_init(&reader, dir);
    if (segment_reader_open(&reader, s->number, from, &e))
        do
            got = segment_read(&reader, s->size, &frame, &hole, &e);
        while (got == SEGMENT_HOLE);
    segment_reader_release(&reader);
    return got == SEGMENT_FRAME;
}

bool reader_journal_waits(struct reader *r, const char *journal)
{
    struct segment_list list = {NULL, 0, 0};
    struct journal_place place;
    char path[FILE_PATH_MAX + 8];
    struct arena a;
    struct err e;
    bool found = false;
    str name;

    (void)snprintf(path, sizeof path, "%s/name", journal);
    arena_init(&a, 4096);
    if (file_read(&a, path, 1024, &name, &e) && segment_list_read(journal, &list, &e) &&
        waiting_read_place(r, str_trim(name), &place, &e))
        for (size_t i = 0; i < list.count && !found; i++)
            if (list.items[i].number >= place.segment)
                found = waiting_has_frame(journal,
                                          &list.items[i],
                                          list.items[i].number == place.segment ? place.offset : 0);
    segment_list_release(&list);
    arena_release(&a);
    return found;
}
