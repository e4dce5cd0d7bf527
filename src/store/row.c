/* SPDX-License-Identifier: Apache-2.0 */
#include "store/row.h"

#include "base/json.h"

#define TEXT_MAX ((size_t)UINT32_MAX)

#define FIELD_OF(type, column, kind, row_member)                                                   \
    {                                                                                              \
        column, sizeof column - 1, kind, offsetof(struct type, row_member), 0                      \
    }
#define SESSION(column, kind, row_member) FIELD_OF(store_session, column, kind, row_member)
#define TOOL(column, kind, row_member) FIELD_OF(store_tool, column, kind, row_member)
#define NOTE(column, kind, row_member) FIELD_OF(store_note, column, kind, row_member)

#define NO_BLOCK (-1)

const struct row_field row_fields[] = {
#define CALL_FIELD(kind, member, column, text, api)                                                \
    {column, sizeof column - 1, ROW_##kind, offsetof(struct store_call, member), 1 + (text)},
#include "store/call_fields.def"
#undef CALL_FIELD
};
const size_t row_field_count = COUNT_OF(row_fields);

static const struct row_field session_fields[] = {
    SESSION("session_id", ROW_TEXT, id),
    SESSION("alert_id", ROW_TEXT, alert_id),
    SESSION("agent_type", ROW_TEXT, agent_type),
    SESSION("alert_type", ROW_TEXT, alert_type),
    SESSION("status", ROW_TEXT, status),
    SESSION("alert_data", ROW_TEXT, alert_data),
    SESSION("session_metadata", ROW_TEXT, session_metadata),
    SESSION("error_message", ROW_TEXT, error_message),
    SESSION("final_analysis", ROW_TEXT, final_analysis),
    SESSION("started_at_us", ROW_KNOWN, started_us),
    SESSION("completed_at_us", ROW_KNOWN, completed_us),
    SESSION("key_name", ROW_TEXT, key_name),
    SESSION("put_at_us", ROW_KNOWN, put_us),
};

static const struct row_field tool_fields[] = {
    TOOL("communication_id", ROW_TEXT, id),
    TOOL("session_id", ROW_TEXT, session_id),
    TOOL("parent_id", ROW_TEXT, parent_id),
    TOOL("server_name", ROW_TEXT, server_name),
    TOOL("communication_type", ROW_TEXT, communication_type),
    TOOL("tool_name", ROW_TEXT, tool_name),
    TOOL("tool_arguments", ROW_TEXT, arguments),
    TOOL("tool_result", ROW_TEXT, result),
    TOOL("available_tools", ROW_TEXT, available_tools),
    TOOL("error_message", ROW_TEXT, error_message),
    TOOL("step_description", ROW_TEXT, step),
    TOOL("timestamp_us", ROW_I64, timestamp_us),
    TOOL("duration_ms", ROW_KNOWN, duration_ms),
    TOOL("success", ROW_BOOL, success),
};

static const struct row_field note_fields[] = {
    NOTE("id", ROW_TEXT, id),
    NOTE("actor", ROW_TEXT, actor),
    NOTE("action", ROW_TEXT, action),
    NOTE("subject", ROW_TEXT, subject),
    NOTE("detail", ROW_TEXT, detail),
    NOTE("time_us", ROW_I64, time_us),
};

const struct row_table row_calls = {row_fields, COUNT_OF(row_fields)};
const struct row_table row_sessions = {session_fields, COUNT_OF(session_fields)};
const struct row_table row_tools = {tool_fields, COUNT_OF(tool_fields)};
const struct row_table row_notes = {note_fields, COUNT_OF(note_fields)};

#define EMPTY_TEXT STR_INIT("")
#define EMPTY_BODY STR_INIT("")
#define EMPTY_INT 0
#define EMPTY_BOOL false
#define EMPTY_I64 (-1)
#define EMPTY_KNOWN (-1)
#define EMPTY_COST (-1)

const struct store_call store_call_none = {
#define CALL_FIELD(kind, member, column, text, api) .member = EMPTY_##kind,
#include "store/call_fields.def"
#undef CALL_FIELD
};

static char *row_put_u32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *p++ = (char)(v >> (8 * i));
    return p;
}

static char *row_put_u64(char *p, uint64_t v)
{
    return row_put_u32(row_put_u32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

static char *row_put_text(char *p, str s)
{
    assert(s.n <= TEXT_MAX);
    p = row_put_u32(p, (uint32_t)s.n);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return p + s.n;
}

/* A reader of a record's bytes. Its error is sticky: after a short read all later reads fail. */
struct cursor {
    const char *p, *end;
    bool short_;
};

static const char *row_take(struct cursor *c, size_t n)
{
    const char *p = c->p;

    assert(c->p <= c->end);
    if (c->short_ || (size_t)(c->end - c->p) < n) {
        c->short_ = true;
        return NULL;
    }
    c->p += n;
    return p;
}

static uint64_t row_take_number(struct cursor *c, size_t size)
{
    const char *p = row_take(c, size);
    uint64_t v = 0;

    assert(size <= 8);
    for (size_t i = 0; p && i < size; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

static str row_take_text(struct cursor *c)
{
    size_t n = (size_t)row_take_number(c, 4);
    const char *p = n > 0 ? row_take(c, n) : "";

    return p ? (str){p, n} : STR("");
}

static const void *row_member(const void *row, const struct row_field *f)
{
    return (const char *)row + f->at;
}

/* The bytes of a field that is not text. */
static size_t row_fixed_size(enum row_kind kind)
{
    assert(kind > ROW_BODY);
    return kind == ROW_BOOL ? 1 : kind == ROW_INT ? 4 : 8;
}

size_t row_size(const struct row_table *t, const void *row)
{
    size_t size = 2;

    for (size_t i = 0; i < t->count; i++) {
        const struct row_field *f = &t->fields[i];
        size_t n = f->kind <= ROW_BODY ? ((const str *)row_member(row, f))->n : 0;

        if (n > TEXT_MAX)
            return SIZE_MAX;
        size += f->kind <= ROW_BODY ? 4 + n : row_fixed_size(f->kind);
    }
    return size;
}

void row_put(const struct row_table *t, const void *row, char *p)
{
    const char *start = p;

    assert(t->count <= UINT8_MAX);
    *p++ = (char)t->count;
    *p++ = 0;
    for (size_t i = 0; i < t->count; i++) {
        const void *from = row_member(row, &t->fields[i]);
        uint64_t bits = 0;

        switch (t->fields[i].kind) {
        case ROW_TEXT:
        case ROW_BODY:
            p = row_put_text(p, *(const str *)from);
            break;
        case ROW_INT:
            p = row_put_u32(p, (uint32_t) * (const int *)from);
            break;
        case ROW_BOOL:
            *p++ = (char)*(const bool *)from;
            break;
        case ROW_I64:
        case ROW_KNOWN:
        case ROW_COST:
            memcpy(&bits, from, sizeof bits);
            p = row_put_u64(p, bits);
            break;
        }
    }
    assert_slow((size_t)(p - start) == row_size(t, row)); /* the caller made room for that */
}

static void row_take_field(struct cursor *c, const struct row_field *f, void *out)
{
    void *to = (char *)out + f->at;
    uint64_t bits;

    switch (f->kind) {
    case ROW_TEXT:
    case ROW_BODY:
        *(str *)to = row_take_text(c);
        break;
    case ROW_INT:
        *(int *)to = (int)(uint32_t)row_take_number(c, 4);
        break;
    case ROW_BOOL:
        *(bool *)to = row_take_number(c, 1) != 0;
        break;
    case ROW_I64:
    case ROW_KNOWN:
    case ROW_COST:
        bits = row_take_number(c, 8);
        memcpy(to, &bits, sizeof bits);
        break;
    }
}

bool row_get(const struct row_table *t, str bytes, void *out)
{
    struct cursor c = {bytes.p, bytes.p + bytes.n, false};
    size_t count = (size_t)row_take_number(&c, 2);

    assert(t->count > 0 && t->fields[0].kind == ROW_TEXT); /* the id */
    for (size_t i = 0; i < count && i < t->count; i++)
        row_take_field(&c, &t->fields[i], out);
    return !c.short_ && ((const str *)row_member(out, &t->fields[0]))->n > 0 &&
           (count > t->count || c.p == c.end);
}

int64_t row_text_bits(const struct store_call *row)
{
    int64_t bits = 0;

    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text && ((const str *)row_member(row, &row_fields[i]))->n > 0)
            bits |= (int64_t)1 << (row_fields[i].text - 1);
    return bits;
}

size_t row_call_size(const struct store_call *c)
{
    return row_size(&row_calls, c);
}

void row_call_put(const struct store_call *c, char *p)
{
    row_put(&row_calls, c, p);
}

bool row_call_get(str bytes, struct store_call *out)
{
    struct store_call got = store_call_none;

    if (!row_get(&row_calls, bytes, &got))
        return false;
    *out = got;
    return true;
}

size_t row_piece_size(const struct store_piece *piece)
{
    if (piece->id.n > TEXT_MAX || piece->kind.n > TEXT_MAX || piece->bytes.n > TEXT_MAX)
        return SIZE_MAX;
    return 4 + 12 + piece->id.n + piece->kind.n + piece->bytes.n + 8;
}

void row_piece_put(const struct store_piece *piece, char *p)
{
    p = row_put_u32(p, piece->n);
    p = row_put_text(p, piece->id);
    p = row_put_text(p, piece->kind);
    p = row_put_text(p, piece->bytes);
    (void)row_put_u64(p, (uint64_t)piece->time_ms);
}

bool row_piece_get(str bytes, struct store_piece *out)
{
    struct cursor c = {bytes.p, bytes.p + bytes.n, false};
    struct store_piece got;

    got.n = (uint32_t)row_take_number(&c, 4);
    got.id = row_take_text(&c);
    got.kind = row_take_text(&c);
    got.bytes = row_take_text(&c);
    got.time_ms = c.p == c.end ? 0 : (int64_t)row_take_number(&c, 8); /* earlier versions: none */
    if (c.short_ || c.p != c.end || got.id.n == 0)
        return false;
    *out = got;
    return true;
}

/* The names are written by decision.c: a JSON array of texts, one for each call. An application
 * records the calls that it makes itself, so only those asked of a client are counted here. */
int64_t row_tool_count(const struct store_call *row)
{
    struct json doc;
    struct err e;
    int64_t n = 0;

    if (!str_starts(row->route, STR("/")) || row->tools.n == 0 || row->decision.n == 0)
        return 0;
    if (json_open(&doc, row->tools, &e) && json_root(&doc)->kind == JSON_ARRAY)
        n = (int64_t)json_count(&doc, json_root(&doc));
    json_release(&doc);
    return n;
}
