/* replay_read.c - reads a folder of recordings, and lists its tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "base/map.h"
#include "mcp/replay_state.h"

#include <dirent.h>

#define TOOLS_MAX 2000
#define SCHEMA_MAX ((size_t)4 << 20)
#define LIST "tools.json"
/* Size of the arena: a file and its decoded texts, twice, because free space may be in two
 * pieces. */
#define FILE_ROOM (4 * REPLAY_FILE_MAX)
#define HINTS                                                                                      \
    "{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":"  \
    "false}"

static bool mcp_replay_read_add_fault(struct replay *r, str file, unsigned line, const char *why)
{
    assert(r->fault_count <= REPLAY_FAULTS_MAX);
    if (r->fault_count < REPLAY_FAULTS_MAX)
        r->faults[r->fault_count++] =
            arena_printf(&r->arena, STR_FMT ":%u: %s", STR_ARG(file), line, why).p;
    return false;
}

/* ---- one file ---- */

static bool replay_parse_line(struct replay *r, str file, unsigned line, str text, struct json *doc)
{
    struct err e;

    if (!text.n)
        return mcp_replay_read_add_fault(r, file, line, "is empty, and must be a JSON object");
    if (!json_parse(doc, text, &e))
        return mcp_replay_read_add_fault(r, file, line, e.text);
    return json_root(doc)->kind == JSON_OBJECT ||
           mcp_replay_read_add_fault(r, file, line, "must be a JSON object");
}

/* A name in either of its spellings. */
static bool read_name(struct replay *r, struct recording *rec)
{
    static const char *const keys[] = {"tool_name", "toolname", "tool"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (json_text(&rec->head,
                      json_find(&rec->head, json_root(&rec->head), str_c(keys[i])),
                      &r->arena,
                      &rec->tool) &&
            rec->tool.n)
            return true;
    return mcp_replay_read_add_fault(r, rec->file, 1, "has no \"tool_name\"");
}

static bool read_match(struct replay *r, struct recording *rec)
{
    const struct json_node *v = json_find(&rec->head, json_root(&rec->head), STR("match_params"));

    if (!v || v->kind == JSON_NULL)
        return true;
    rec->match = v;
    return v->kind == JSON_OBJECT ||
           mcp_replay_read_add_fault(r, rec->file, 1, "\"match_params\" must be an object or null");
}

static void read_outcome(struct replay *r, struct recording *rec)
{
    const struct json_node *root = json_root(&rec->meta);
    str error = STR("");

    rec->failed = json_is(&rec->meta, json_find(&rec->meta, root, STR("status")), STR("error"));
    if (rec->output.n)
        return;
    if (json_text(&rec->meta, json_find(&rec->meta, root, STR("error")), &r->arena, &error) &&
        error.n)
        rec->output = error;
    else if (json_is(&rec->meta, json_find(&rec->meta, root, STR("status")), STR("no_data")))
        rec->output = STR("no data");
}

static bool read_recording(struct replay *r, str file, str text, struct recording *rec)
{
    *rec = (struct recording){.file = arena_dup(&r->arena, file)};
    json_init(&rec->head);
    json_init(&rec->meta);
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_slice(text, 3, text.n);
    if (replay_parse_line(r, rec->file, 1, str_trim(str_cut(&text, '\n')), &rec->head) &&
        read_name(r, rec) && read_match(r, rec) &&
        replay_parse_line(r, rec->file, 2, str_trim(str_cut(&text, '\n')), &rec->meta)) {
        rec->output = text;
        read_outcome(r, rec);
        return true;
    }
    json_release(&rec->head);
    json_release(&rec->meta);
    return false;
}

bool replay_add(struct replay *r, str file, str text)
{
    r->recordings = base_grow(r->recordings, r->count, &r->cap, sizeof *r->recordings);
    if (!read_recording(r, file, text, &r->recordings[r->count]))
        return false;
    r->count++;
    return true;
}

static bool mcp_replay_read_file(struct replay *r, const char *folder, str name)
{
    char path[FILE_PATH_MAX];
    struct err e;
    str text;

    (void)snprintf(path, sizeof path, "%s/" STR_FMT, folder, STR_ARG(name));
    if (arena_left(&r->arena) < FILE_ROOM)
        return mcp_replay_read_add_fault(r, name, 1, "the folder is larger than can be held");
    if (!file_read(&r->arena, path, REPLAY_FILE_MAX, &text, &e))
        return mcp_replay_read_add_fault(r, name, 1, e.text);
    return replay_add(r, name, text);
}

/* ---- the folder ---- */

static bool replay_list_files(struct replay *r, const char *folder, str **out, size_t *n,
                              struct err *e)
{
    DIR *dir = opendir(folder);
    struct dirent *d;

    if (!dir)
        return err_sys(e, "open the folder %s", folder);
    *out = arena_zero(&r->arena, REPLAY_FILES_MAX, sizeof **out);
    while ((d = readdir(dir)) && *n < REPLAY_FILES_MAX)
        if (str_ends(str_c(d->d_name), STR(".txt")))
            (*out)[(*n)++] = arena_dup(&r->arena, str_c(d->d_name));
    closedir(dir);
    assert(*n <= REPLAY_FILES_MAX);
    qsort(*out, *n, sizeof **out, str_order);
    return true;
}

/* ---- tools ---- */

static struct mcp_tool *tool_find(struct replay *r, str name)
{
    for (size_t i = 0; i < r->tool_count; i++)
        if (str_eq(str_c(r->tools[i].name), name))
            return &r->tools[i];
    return NULL;
}

static const char *mcp_replay_read_text_at(struct replay *r, const struct json *doc,
                                           const struct json_node *v, const char *key)
{
    str text;

    if (!json_text(doc, json_find(doc, v, str_c(key)), &r->arena, &text))
        return NULL;
    return arena_dup(&r->arena, text).p;
}

static void replay_add_listed(struct replay *r, const struct json *doc, const struct json_node *v)
{
    const struct json_node *schema = json_find(doc, v, STR("inputSchema"));
    const char *name = mcp_replay_read_text_at(r, doc, v, "name");

    assert(r->tool_count < TOOLS_MAX);
    if (!name || !name[0] || tool_find(r, str_c(name))) {
        mcp_replay_read_add_fault(r,
                                  STR(LIST),
                                  1,
                                  name ? "names a tool twice, or one without a name"
                                       : "has a tool without a name");
        return;
    }
    if (!schema)
        schema = json_find(doc, v, STR("input_schema"));
    r->tools[r->tool_count++] = (struct mcp_tool){
        .name = name,
        .title = mcp_replay_read_text_at(r, doc, v, "title"),
        .description = mcp_replay_read_text_at(r, doc, v, "description"),
        .input = json_is_object(schema) ? arena_dup(&r->arena, json_raw(doc, schema)).p
                                        : "{\"type\":\"object\"}",
        .annotations = HINTS,
        .run = replay_run};
}

/* Reads a list of tools with the schemas of the recorded servers. */
static void mcp_replay_read_list(struct replay *r, const char *folder)
{
    const struct json_node *list;
    char path[FILE_PATH_MAX];
    struct json doc;
    struct err e;
    str text;

    (void)snprintf(path, sizeof path, "%s/" LIST, folder);
    if (!file_exists(path))
        return;
    json_init(&doc);
    if (arena_left(&r->arena) < 2 * FILE_ROOM) {
        mcp_replay_read_add_fault(r, STR(LIST), 1, "the folder is larger than can be held");
    } else if (!file_read(&r->arena, path, REPLAY_FILE_MAX, &text, &e) ||
               !json_parse(&doc, text, &e)) {
        mcp_replay_read_add_fault(r, STR(LIST), 1, e.text);
    } else {
        list = json_root(&doc);
        if (list->kind == JSON_OBJECT)
            list = json_find(&doc, list, STR("tools"));
        if (!json_is_array(list))
            mcp_replay_read_add_fault(r, STR(LIST), 1, "must be a list of tools");
        else
            for (const struct json_node *v = json_first(&doc, list); v && r->tool_count < TOOLS_MAX;
                 v = json_next(&doc, list, v))
                replay_add_listed(r, &doc, v);
    }
    json_release(&doc);
}

static const char *mcp_replay_read_type_of(const struct json_node *v)
{
    return NAME_OF(v->kind, NULL, "boolean", "boolean", "number", "string", "array", "object");
}

/* Derives the parameters of a tool from its recordings. */
static void replay_add_properties(struct replay *r, struct json_out *o, str tool, struct map *seen)
{
    for (size_t i = 0; i < r->count; i++) {
        struct recording *rec = &r->recordings[i];
        const struct json_node *params =
            json_find(&rec->meta, json_root(&rec->meta), STR("params"));
        const struct json *docs[] = {&rec->head, &rec->meta};
        const struct json_node *sets[] = {rec->match, params};

        for (size_t s = 0; str_eq(rec->tool, tool) && s < 2; s++)
            for (const struct json_node *k =
                     sets[s] && sets[s]->kind == JSON_OBJECT ? json_first(docs[s], sets[s]) : NULL;
                 k;
                 k = json_next(docs[s], sets[s], k)) {
                const char *type = mcp_replay_read_type_of(json_value(k));
                struct err e;
                str name;

                if (!json_text(docs[s], k, &r->arena, &name) || map_find(seen, name) ||
                    !map_set(seen, name, MAP_U64(1), &e))
                    continue;
                json_out_key(o, name);
                json_out_object(o);
                if (type) {
                    json_member_str(o, "type", str_c(type));
                }
                json_out_end(o);
            }
    }
}

static void replay_add_recorded(struct replay *r, const struct recording *rec)
{
    struct json_out o;
    struct map seen;
    struct buf out;

    assert(r->tool_count < TOOLS_MAX + REPLAY_FILES_MAX);
    buf_init(&out, SCHEMA_MAX);
    map_init(&seen, NULL, 10000);
    json_out_init_object(&o, &out);
    json_member_str(&o, "type", STR("object"));
    json_member_object(&o, "properties");
    replay_add_properties(r, &o, rec->tool, &seen);
    json_out_end(&o);
    json_out_end(&o);
    if (!arena_fits(&r->arena, 2 * out.n + 8 * rec->tool.n + 4096, 0)) {
        mcp_replay_read_add_fault(r, rec->file, 1, "the folder is larger than can be held");
        goto out;
    }
    r->tools[r->tool_count++] =
        (struct mcp_tool){.name = arena_dup(&r->arena, rec->tool).p,
                          .description = arena_printf(&r->arena,
                                                      "What " STR_FMT " gave when it was recorded.",
                                                      STR_ARG(rec->tool))
                                             .p,
                          .input = arena_dup(&r->arena, buf_str(&out)).p,
                          .annotations = HINTS,
                          .run = replay_run};
out:
    map_release(&seen);
    buf_release(&out);
}

bool replay_open(const char *folder, struct replay **out, struct err *e)
{
    struct replay *r = base_alloc(sizeof *r);
    str *files = NULL;
    size_t n = 0;

    *r = (struct replay){0};
    arena_init(&r->arena, REPLAY_SIZE_MAX);
    r->faults = arena_zero(&r->arena, REPLAY_FAULTS_MAX, sizeof *r->faults);
    r->tools = arena_zero(&r->arena, TOOLS_MAX + REPLAY_FILES_MAX, sizeof *r->tools);
    if (!replay_list_files(r, folder, &files, &n, e)) {
        replay_close(r);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        (void)mcp_replay_read_file(r, folder, files[i]);
    mcp_replay_read_list(r, folder);
    for (size_t i = 0; i < r->count; i++)
        if (!tool_find(r, r->recordings[i].tool))
            replay_add_recorded(r, &r->recordings[i]);
    r->set = (struct mcp_set){.tools = r->tools, .tool_count = r->tool_count, .ctx = r};
    if (r->tool_count) {
        *out = r;
        return true;
    }
    if (r->fault_count)
        err_input(e, "%s has no recording that can be read: %s", folder, r->faults[0]);
    else
        err_set(e, ERR_NOT_FOUND, "%s has no recordings: NAME.txt, or " LIST, folder);
    replay_close(r);
    return false;
}

void replay_close(struct replay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        json_release(&r->recordings[i].head);
        json_release(&r->recordings[i].meta);
    }
    free(r->recordings);
    arena_release(&r->arena);
    free(r);
}
