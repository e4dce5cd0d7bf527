/* `rationale keys`: creates, hashes and lists keys of clients; a key is shown once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/rand.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "gateway/config.h"

#define KEY_PREFIX "rk-"
#define KEY_LETTERS 43 /* characters, of 62: 256 bits */
#define KEY_SIZE (sizeof KEY_PREFIX + KEY_LETTERS)
#define DIGEST_SHOWN 8
#define OUT_MAX ((size_t)16 << 20)

enum { CONFIG, ROLE, MODELS, LEVELS, RPM, TPM, SPEND, REASONING, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "list: the file (default: rationale.yaml)"},
    [ROLE] = {"role", 0, "ROLE", "client operator", "new: an operator sees all of the record"},
    [MODELS] = {"models", 0, "A,B", NULL, "new: only these models"},
    [LEVELS] = {"levels", 0, "A,B", NULL, "new: only these reasoning levels"},
    [RPM] = {"rpm", 0, "N", NULL, "new: requests a minute"},
    [TPM] = {"tpm", 0, "N", NULL, "new: tokens a minute"},
    [SPEND] = {"spend-usd", 0, "USD", NULL, "new: its total spending limit"},
    [REASONING] = {"reasoning", 0, "WHAT", "show hide", "new: whether it gets reasoning"},
    [JSON] = {"json", 0, NULL, NULL, "the result as JSON"},
};

static const char *keys_verb(size_t index)
{
    return NAME_OF(index, "new", "hash", "list", NULL);
}

/* ---- new ---- */

static void keys_make_key(char out[KEY_SIZE])
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = sizeof KEY_PREFIX - 1;

    memcpy(out, KEY_PREFIX, n);
    while (n < KEY_SIZE - 1) {
        uint8_t byte;

        /* 248 is 4 times 62: larger values would make some letters more likely than others. */
        rand_os(&byte, 1);
        if (byte < 248)
            out[n++] = letters[byte % 62];
    }
    out[n] = '\0';
    assert(n == KEY_SIZE - 1);
}

static void keys_add_list(struct buf *b, const char *name, const char *value)
{
    str rest = str_c(value);

    if (!value)
        return;
    buf_printf(b, ",\"%s\":[", name);
    for (bool more = true, first = true; more; first = false) {
        size_t comma = str_find(rest, STR(","));

        buf_add(b, first ? STR("") : STR(","));
        json_quote(b, str_trim(str_slice(rest, 0, comma)));
        more = comma != STR_NONE;
        rest = more ? str_slice(rest, comma + 1, rest.n) : STR("");
    }
    buf_add_c(b, ']');
}

/* Writes a number unchanged; anything else becomes a text, which the check then rejects. */
static void keys_add_number(struct buf *b, const char *name, const char *value)
{
    str digits = str_trim(str_c(value));
    bool plain = digits.n > 0 && digits.p[0] != '.';

    if (!value)
        return;
    for (size_t i = 0, points = 0; i < digits.n; i++) {
        points += digits.p[i] == '.';
        plain &= points <= 1 && ((digits.p[i] >= '0' && digits.p[i] <= '9') || digits.p[i] == '.');
    }
    buf_printf(b, ",\"%s\":", name);
    if (plain && !str_ends(digits, STR(".")) && !str_starts(digits, STR("0")))
        buf_add(b, digits);
    else if (plain && (digits.n == 1 || str_starts(digits, STR("0."))))
        buf_add(b, digits);
    else
        json_quote(b, digits);
}

/* JSON is also YAML, so one text serves both. */
static void keys_add_entry(struct buf *b, const struct cli_args *args, str digest)
{
    assert(args->word_count == 2);
    buf_add(b, STR("{\"name\":"));
    json_quote(b, str_c(args->words[1]));
    buf_printf(b, ",\"sha256\":\"" STR_FMT "\"", STR_ARG(digest));
    if (args->value[ROLE])
        buf_printf(b, ",\"role\":\"%s\"", args->value[ROLE]);
    keys_add_list(b, "models", args->value[MODELS]);
    keys_add_list(b, "levels", args->value[LEVELS]);
    keys_add_number(b, "rpm", args->value[RPM]);
    keys_add_number(b, "tpm", args->value[TPM]);
    keys_add_number(b, "spend_usd", args->value[SPEND]);
    if (args->value[REASONING])
        buf_printf(b, ",\"reasoning\":\"%s\"", args->value[REASONING]);
    buf_add_c(b, '}');
}

/* Checks the entry with the parser of the configuration, which must accept it. */
static bool keys_check_entry(str entry, struct err *e)
{
    struct config *c;
    struct buf yaml;
    bool ok;

    buf_init(&yaml, OUT_MAX);
    buf_add(&yaml, STR("{\"providers\":{\"ollama\":{}},\"keys\":["));
    buf_add(&yaml, entry);
    buf_add(&yaml, STR("]}"));
    ok = config_parse(buf_str(&yaml), "key", &c, e);
    buf_release(&yaml);
    if (ok)
        config_release(c);
    return ok;
}

/* One member per line, as people write it. */
static void keys_put_entry(struct cli *cli, str entry)
{
    struct json doc;
    struct err e;
    const char *before = "- ";

    if (json_open(&doc, entry, &e)) {
        const struct json_node *root = json_root(&doc);

        JSON_FOREACH(k, &doc, root) {
            str key = json_raw(&doc, k);

            file_out_printf(
                &cli->out, "%s" STR_FMT ": ", before, STR_ARG(str_slice(key, 1, key.n - 1)));
            cli_put_json(cli, json_raw(&doc, json_value(k)));
            file_out_add(&cli->out, STR("\n"));
            before = "  ";
        }
    }
    json_release(&doc);
}

static int keys_print_new_key(struct cli *cli, const struct cli_args *args)
{
    char key[KEY_SIZE], hex[SHA256_HEX_SIZE];
    uint8_t digest[SHA256_SIZE];
    struct buf entry;
    struct err e;
    int code = CLI_OK;

    assert(args->word_count > 0);
    if (args->word_count != 2)
        return cli_complain(CLI_USAGE, "a key needs a name: rationale keys new NAME");
    keys_make_key(key);
    sha256_of(str_c(key), digest);
    buf_init(&entry, OUT_MAX / 2);
    keys_add_entry(&entry, args, sha256_hex(digest, hex));
    if (!keys_check_entry(buf_str(&entry), &e)) {
        const char *words = strstr(e.text, "keys.0");

        code = cli_complain(CLI_USAGE, "%s", words ? words + strlen("keys.0.") : e.text);
    } else if (args->value[JSON]) {
        file_out_printf(&cli->out, "{\"key\":\"%s\",\"entry\":", key);
        cli_put_json(cli, buf_str(&entry));
        file_out_add(&cli->out, STR("}\n"));
    } else {
        file_out_printf(&cli->out,
                        "%s\n\n# The key above is shown only now. Under keys: in the "
                        "configuration goes:\n",
                        key);
        keys_put_entry(cli, buf_str(&entry));
    }
    secret_wipe(key, sizeof key);
    buf_release(&entry);
    return code;
}

/* ---- hash ---- */

static int keys_hash(struct cli *cli, const struct cli_args *args)
{
    const struct cli_args none = {.word_count = 0};
    char bytes[SECRET_SIZE_MAX], hex[SHA256_HEX_SIZE];
    uint8_t digest[SHA256_SIZE];
    struct cli_input in;
    size_t n = 0, got = 1;
    struct err e;
    bool ok;
    str key;

    if (args->word_count != 1)
        return cli_complain(CLI_USAGE, "a key is read from standard input, not from the line");
    ok = cli_open(cli, &none, &in, &e);
    while (ok && got > 0 && n < sizeof bytes) {
        ok = cli_read(&in, bytes + n, sizeof bytes - n, &got, &e);
        n += ok ? got : 0;
    }
    key = str_trim((str){bytes, n});
    sha256_of(key, digest);
    secret_wipe(bytes, sizeof bytes);
    if (!ok)
        return cli_fail(&e);
    if (n == sizeof bytes)
        return cli_complain(CLI_USAGE,
                            "standard input has more than %zu bytes: that is no key; give it the "
                            "key alone",
                            sizeof bytes - 1);
    if (key.n == 0)
        return cli_complain(CLI_USAGE, "there is no key on standard input");
    sha256_hex(digest, hex);
    file_out_printf(
        &cli->out, args->value[JSON] ? "{\"sha256\":\"%s\"}\n" : "sha256: \"%s\"\n", hex);
    return CLI_OK;
}

/* ---- list ---- */

static void keys_put_json(struct buf *b, const struct config_key *k)
{
    char hex[SHA256_HEX_SIZE];
    struct json_out o;

    sha256_hex(k->sha256, hex);
    json_out_init_object(&o, b);
    json_member_str(&o, "name", k->name);
    json_member_str(&o, "sha256_begins", (str){hex, DIGEST_SHOWN});
    json_member_str(&o, "role", k->role == CONFIG_OPERATOR ? STR("operator") : STR("client"));
    json_member_texts(&o, "models", k->models, k->model_count);
    json_member_array(&o, "levels");
    for (int level = 0; level < CHAT_LEVEL_COUNT; level++)
        if (k->levels & 1u << level)
            json_out_str(&o, str_c(chat_level_name((enum chat_level)level)));
    json_out_end(&o);
    json_member_i64_or_null(&o, "rpm", k->rpm);
    json_member_i64_or_null(&o, "tpm", k->tpm);
    json_member_double_or_null(&o, "spend_usd", k->spend_usd);
    json_member_str_or_null(&o,
                            "reasoning",
                            k->reasoning == CONFIG_SHOW_UNSET ? STR("")
                            : k->reasoning == CONFIG_SHOW     ? STR("show")
                                                              : STR("hide"));
    json_out_end(&o);
}

static void keys_put_line(struct buf *b, const struct config_key *k)
{
    char hex[SHA256_HEX_SIZE];

    sha256_hex(k->sha256, hex);
    buf_printf(b, STR_FMT "\t%.*s", STR_ARG(k->name), DIGEST_SHOWN, hex);
    buf_add(b, k->role == CONFIG_OPERATOR ? STR("\trole=operator") : STR(""));
    buf_add(b, k->model_count ? STR("\tmodels=") : STR(""));
    for (size_t i = 0; i < k->model_count; i++)
        buf_printf(b, "%s" STR_FMT, i ? "," : "", STR_ARG(k->models[i]));
    buf_add(b, k->levels ? STR("\tlevels=") : STR(""));
    for (unsigned level = 0, first = 1; level < CHAT_LEVEL_COUNT; level++)
        if (k->levels & 1u << level) {
            buf_printf(b, "%s%s", first ? "" : ",", chat_level_name((enum chat_level)level));
            first = 0;
        }
    if (k->rpm >= 0)
        buf_printf(b, "\trpm=%lld", (long long)k->rpm);
    if (k->tpm >= 0)
        buf_printf(b, "\ttpm=%lld", (long long)k->tpm);
    if (k->spend_usd >= 0)
        buf_printf(b, "\tspend_usd=%.15g", k->spend_usd);
    if (k->reasoning != CONFIG_SHOW_UNSET)
        buf_printf(b, "\treasoning=%s", k->reasoning == CONFIG_SHOW ? "show" : "hide");
    buf_add_c(b, '\n');
}

static int keys_list(struct cli *cli, const struct cli_args *args)
{
    const char *path = args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE;
    bool json = args->value[JSON] != NULL;
    struct config *c;
    struct buf b;
    struct err e;

    if (args->word_count != 1)
        return cli_complain(CLI_USAGE, "list takes no name: rationale keys list --config FILE");
    if (!config_load(path, &c, &e))
        return cli_fail_config(&e);
    buf_init(&b, OUT_MAX);
    for (size_t i = 0; i < c->key_count; i++) {
        buf_add(&b, json ? (i ? STR(",") : STR("[")) : STR(""));
        if (json)
            keys_put_json(&b, &c->keys[i]);
        else
            keys_put_line(&b, &c->keys[i]);
    }
    if (json)
        buf_add(&b, c->key_count ? STR("]\n") : STR("[]\n"));
    else if (c->key_count == 0)
        (void)cli_complain(CLI_OK,
                           STR_FMT " has no keys: only this machine may call; make one with "
                                   "`rationale keys new NAME`",
                           STR_ARG(c->path));
    file_out_add(&cli->out, buf_str(&b));
    buf_release(&b);
    config_release(c);
    return CLI_OK;
}

static int keys_run(struct cli *cli, const struct cli_args *args)
{
    str word = str_c(args->word_count ? args->words[0] : "");

    if (str_eq(word, STR("list")))
        return keys_list(cli, args);
    if (str_eq(word, STR("hash")))
        return keys_hash(cli, args);
    if (word.n == 0)
        return cli_complain(CLI_USAGE, "keys needs a word: new, hash or list");
    return keys_print_new_key(cli, args);
}

const struct cli_command cli_keys = {
    .name = "keys",
    .summary = "make, hash and list the keys of clients",
    .words = "new NAME | hash | list",
    .values = keys_verb,
    .about =
        "new creates a key of 256 random bits and prints it, only this once, with the entry for "
        "the configuration, which has only its digest. hash reads a key from standard input and "
        "prints its digest. list shows the keys of a configuration: names, roles, limits and the "
        "first digits of each digest. A client sees its own sessions, an operator all.",
    .examples = "  rationale keys new ci --models fast,slow --rpm 60\n"
                "  rationale keys new ops --role operator\n"
                "  rationale keys hash < key.txt\n"
                "  rationale keys list --config rationale.yaml\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 2,
    .run = keys_run,
};
