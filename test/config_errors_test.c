/* Each error of the configuration, and its text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config.h"
#include "test.h"

#include <unistd.h>

#define P "providers: {a: {kind: openai, base_url: http://h/v1, format: think}}\n"
#define DIGEST "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"

/* clang-format off */
static const struct {
    const char *yaml, *error;
} bad[] = {
    /* YAML itself */
    {"", "c.yaml:1: the file is empty: write the settings into it"},
    {"# only a comment\n", "c.yaml:1: the file is empty: write the settings into it"},
    {"a: [1\n",
     "c.yaml:2: column 1: did not find expected ',' or ']' while parsing a flow sequence; check "
     "indentation, quotes and brackets here and in the line above"},
    {"a: 1\n b: 2\n", "c.yaml:2: column 3: mapping values are not allowed in this context"},
    {"\ta: 1\n", "c.yaml:1: a tab indents this line: YAML wants spaces"},
    {"a:\n  b: 1\n \tc: 1\n", "c.yaml:3: a tab indents this line: YAML wants spaces"},
    {"provider:\n  a: {kind: openai}\n", "c.yaml:1: the property \"providers\" is required: "},
    {P "tls:\n  certificate:\n    x\n", "c.yaml:3: tls.certificate: unknown property"},
    {"a: \"\xff\"\n",
     "c.yaml:1: byte 5: invalid leading UTF-8 octet; save the file as UTF-8, without control "
     "characters"},
    {P "# caf\xe9\nstore: none\n", "c.yaml:2: byte 7: invalid trailing UTF-8 octet; save"},
    {P "\nstore: \"\x01\"\n", "c.yaml:3: byte 9: control characters are not allowed; save"},
    {"a: \"\\0\"\n", "c.yaml:1: a text may not have a NUL in it"},
    {P "---\n" P, "c.yaml:2: a second document: there may be only one in the file"},
    {P "listen: x\nstore: none\nlisten: y\n",
     "c.yaml:4: \"listen\" is given twice, first in "
     "line 2"},
    {"providers:\n  a: {kind: openai}\n  a: {kind: gemini}\n",
     "c.yaml:3: \"a\" is given twice, first in line 2"},
    {"\"li\\x73ten\": x\nlisten: y\n", "c.yaml:2: \"listen\" is given twice, first in line 1"},
    {"a: &x 1\n", "c.yaml:1: anchors and aliases are not taken: write the value out"},
    {"a: &x [*x, *x]\n", "c.yaml:1: anchors and aliases are not taken: write the value out"},
    {"a: *x\n", "c.yaml:1: anchors and aliases are not taken: write the value out"},
    {"a: !!str 1\n", "c.yaml:1: tags (!...) are not taken: write the value alone"},
    {"a: !x {}\n", "c.yaml:1: tags (!...) are not taken: write the value alone"},
    {"reasoning:\n  <<: {show: true}\n",
     "c.yaml:2: merge keys (<<) are not taken: write the "
     "values out"},
    {"[a]: 1\n", "c.yaml:1: a key must be a plain name, not a list or a mapping"},
    {"a: .inf\n", "c.yaml:1: .inf is not a finite number"},
    {"a: ${NOT_SET_ANYWHERE}\n", "c.yaml:1: the environment variable NOT_SET_ANYWHERE is not set"},
    {"a: ${1}\n", "c.yaml:1: ${ must be followed by the name of an environment variable and }"},
    {"a: ${\n", "c.yaml:1: ${ must be followed by the name of an environment variable and }"},
    /* masking */
    {P "data_masking: {enabled: maybe}\n", "c.yaml:2: data_masking.enabled: expected boolean"},
    {P "data_masking: {groups: [all]}\n",
     "c.yaml:2: data_masking.groups: unknown property \"groups\""},
    {P "data_masking:\n  pattern_groups: [credentials, emial]\n",
     "c.yaml:3: data_masking.pattern_groups.1: no group \"emial\", did you mean \"email\"?"},
    {P "data_masking: {pattern_groups: [zzzzzzzz]}\n",
     "c.yaml:2: data_masking.pattern_groups.0: no group \"zzzzzzzz\": credentials, private_keys"},
    {P "data_masking:\n  custom_patterns:\n  - name: a\n    pattern: '(x'\n",
     "c.yaml:5: data_masking.custom_patterns.0.pattern: not a regular expression: missing closing "
     "parenthesis at character 3"},
    {P "data_masking: {custom_patterns: [{name: a, pattern: 'x*'}]}\n",
     "c.yaml:2: data_masking.custom_patterns.0.pattern: the pattern matches the empty text"},
    {P "data_masking: {custom_patterns: [{name: a b, pattern: x}]}\n",
     "c.yaml:2: data_masking.custom_patterns.0.name: a name has 1 to 64 letters"},
    {P "data_masking: {custom_patterns: [{name: a}]}\n",
     "c.yaml:2: data_masking.custom_patterns.0: the property \"pattern\" is required"},
    {P "data_masking: {custom_patterns: [{name: a, pattern: x, flags: i}]}\n",
     "c.yaml:2: data_masking.custom_patterns.0.flags: unknown property \"flags\""},
    {P "data_masking: {custom_patterns: [{name: a, pattern: x}, {name: a, pattern: y}]}\n",
     "c.yaml:2: data_masking.custom_patterns.1.name: there are two patterns with this name"},
    /* shape */
    {"- a\n", "c.yaml:1: expected object, got array: begin with providers: {"},
    {"hello\n", "c.yaml:1: expected object, got string: begin with providers: {"},
    {"providers:\n  a: {kind: openai, base_url: 'http://x', models: gpt-5}\n",
     "c.yaml:2: providers.a.models: expected array or object, got string: write a list, such as "
     "[a, b]"},
    {"providers: openai\n",
     "c.yaml:1: providers: expected object, got string: write names with values, such as {name: "
     "value}"},
    {"listen: 127.0.0.1:1\n", "c.yaml:1: the property \"providers\" is required"},
    {"providers: {}\n", "c.yaml:1: providers: "},
    {"providers:\n",
     "c.yaml:1: providers: expected object, got null: it is empty; leave it out or "
     "give it a value"},
    {P "colour: 1\n",
     "c.yaml:2: colour: unknown property \"colour\": docs/reference/configuration.md lists all"},
    {P "port: 80\n", "c.yaml:2: port: unknown property \"port\": use listen: ADDRESS:PORT"},
    {"providers: {a: {kind: openai, endpoint: x}}\n",
     "c.yaml:1: providers.a.endpoint: unknown property \"endpoint\": use base_url"},
    {P "reasoning: {show: 1}\n",
     "c.yaml:2: reasoning.show: expected boolean, got number: write true or false"},
    {P "lisen: x\n", "c.yaml:2: lisen: unknown property \"lisen\", did you mean \"listen\"?"},
    {"providers:\n  a:\n    kind: openai\n    api_key: sk-verysecret\n",
     "c.yaml:4: providers.a.api_key: unknown property \"api_key\": use api_key_env or "
     "api_key_file"},
    {P "keys: [{name: n, key: rk-verysecret}]\n",
     "c.yaml:2: keys.0.key: unknown property \"key\": use sha256 or key_env"},
    {"providers:\n  a: {kind: opnai}\n", "c.yaml:2: providers.a.kind: "},
    {P "reasoning: {show: no}\n",
     "c.yaml:2: reasoning.show: expected boolean, got string: write true or false"},
    {P "reasoning: {show: Off}\n",
     "c.yaml:2: reasoning.show: expected boolean, got string: write true or false"},
    {P "reasoning: {keep: all}\n", "c.yaml:2: reasoning.keep: "},
    {P "threads: many\n", "c.yaml:2: threads: expected integer, got string: write a number"},
    {P "threads: 1.5\n", "c.yaml:2: threads: "},
    {P "threads: -1\n", "c.yaml:2: threads: must be 0 to 256"},
    {P "threads: 999999999999999999999\n", "c.yaml:2: threads: must be 0 to 256"},
    {P "store: 12\n", "c.yaml:2: store: expected string, got number: put it in quotes"},
    {"providers: {azure-inference: {}}\n",
     "c.yaml:1: providers.azure-inference: \"base_url\" is missing: write the URL that the "},
    /* values */
    {P "store: mysql:x\n", "c.yaml:2: store: must be sqlite:PATH, postgres://USER@HOST/DB or none"},
    {P "durability: replicated\n",
     "c.yaml:2: durability: replicated needs a store that is PostgreSQL: set store to"
     " postgres://USER@HOST/DB, or durability to durable"},
    {P "store: 'sqlite:'\n", "c.yaml:2: store: must be sqlite:PATH"},
    {P "listen: 8484\n",
     "c.yaml:2: listen: expected string, got number: write the address too, such as "
     "127.0.0.1:8484"},
    {P "listen: '8080'\n",
     "c.yaml:2: listen: must be ADDRESS:PORT: write 127.0.0.1:8080 for this machine alone, or "
     "0.0.0.0:8080 for all addresses, which needs keys"},
    {P "listen: ':80'\n", "c.yaml:2: listen: must be ADDRESS:PORT: write 127.0.0.1:80 for"},
    {P "listen: localhost\n",
     "c.yaml:2: listen: must be ADDRESS:PORT with a port from 0 to 65535, such as 127.0.0.1:8484"},
    {P "listen: 127.0.0.1:65536\n", "c.yaml:2: listen: must be ADDRESS:PORT"},
    {P "listen: ::1:80\n", "c.yaml:2: listen: must be ADDRESS:PORT"},
    {P "listen: '[::1]80'\n", "c.yaml:2: listen: must be ADDRESS:PORT"},
    {P "tls: {cert: a.pem}\n", "c.yaml:2: tls: cert and key belong together"},
    {P "timeouts: {idle: soon}\n",
     "c.yaml:2: timeouts.idle: must be a duration such as 500ms, 30s, 5m, 12h or 90d"},
    {P "timeouts: {idle: 10 parsecs}\n", "c.yaml:2: timeouts.idle: must be a duration"},
    {P "timeouts: {idle: -3}\n", "c.yaml:2: timeouts.idle: must be 1ms to 1d"},
    {P "timeouts: {idle: 0}\n", "c.yaml:2: timeouts.idle: must be 1ms to 1d"},
    {P "timeouts: {idle: 25h}\n", "c.yaml:2: timeouts.idle: must be 1ms to 1d"},
    {P "timeouts: {idle: 1e999}\n", "c.yaml:2: timeouts.idle: must be 1ms to 1d"},
    {P "body_max: 2GiB\n", "c.yaml:2: body_max: must be 1KiB to 1GiB"},
    {P "retention: {size: 2000000GB}\n", "c.yaml:2: retention.size: must be 0 to 1000000GB"},
    {P "body_max: lots\n", "c.yaml:2: body_max: must be a size such as 32MiB"},
    {P "breaker: {failures: 0}\n", "c.yaml:2: breaker.failures: must be 1 to 1000"},
    {P "otlp: {endpoint: ftp://x}\n", "c.yaml:2: otlp.endpoint: "},
    {P "otlp: {endpoint: http://x, headers: {'a b': c}}\n",
     "c.yaml:2: otlp.headers.a b: not a valid header: write a name "
     "without spaces, and a value in one line"},
    {P "otlp: {headers: {Host: c}}\n",
     "c.yaml:2: otlp.headers.Host: the client writes this header itself, from the url and the "
     "body: remove it"},
    {P "otlp: {headers: {content-length: '3'}}\n",
     "c.yaml:2: otlp.headers.content-length: the client"},
    {P "otlp: {headers: {Transfer-Encoding: chunked}}\n",
     "c.yaml:2: otlp.headers.Transfer-Encoding: the client"},
    {P "otlp: {headers: {CONNECTION: close}}\n", "c.yaml:2: otlp.headers.CONNECTION: the client"},
    {P "otlp: {headers: {Expect: 100-continue}}\n", "c.yaml:2: otlp.headers.Expect: the client"},
    {P "tools: {t: {mcp: {url: http://x, headers: {Upgrade: h2c}}}}\n",
     "c.yaml:2: tools.t.mcp.headers.Upgrade: the client"},
    {P "otlp: {headers: {a: \"b\\r\\nc: d\"}}\n", "c.yaml:2: otlp.headers.a: not a valid header: "},
    /* presets */
    {P "llm: {reasoning_presets: {low: {reasoning_max_tokens: 256}}}\n",
     "c.yaml:2: llm.reasoning_presets.low: reasoning_max_tokens must rise: low has 256 and medium "
     "256"},
    {P "llm:\n  reasoning_presets:\n    low: {reasoning_max_tokens: 1}\n    high: "
       "{reasoning_max_tokens: 200}\n",
     "c.yaml:5: llm.reasoning_presets.high: reasoning_max_tokens must rise: medium has 256 and "
     "high "
     "200"},
    {P "llm: {reasoning_presets: {low: {reasoning_max_tokens: 0}}}\n",
     "c.yaml:2: llm.reasoning_presets.low.reasoning_max_tokens: must be 1 to "},
    {P "llm: {reasoning_presets: {low: {temperature: 2.1}}}\n",
     "c.yaml:2: llm.reasoning_presets.low.temperature: must be 0 to 2"},
    {P "llm: {reasoning_presets: {low: {top_p: -0.1}}}\n",
     "c.yaml:2: llm.reasoning_presets.low.top_p: must be 0 to 1"},
    {P "llm: {reasoning_presets: {minimal: {}}}\n",
     "c.yaml:2: llm.reasoning_presets.minimal: unknown "},
    {P "llm: {reasoning_presets: {max: {reasoning_max_tokens: 600}}}\n",
     "c.yaml:2: llm.reasoning_presets.max: reasoning_max_tokens must rise: xhigh has 2048 and max"},
    {P "reasoning: {presets: never}\n", "c.yaml:2: reasoning.presets: "},
    {P "reasoning: {answer_tokens: -1}\n", "c.yaml:2: reasoning.answer_tokens: must be 0 to "},
    /* providers */
    {"providers: {a b: {kind: openai}}\n", "c.yaml:1: providers.a b: a name has 1 to 64 letters"},
    {"providers: {a/b: {kind: openai}}\n", "c.yaml:1: providers.a/b: a name has 1 to 64 letters"},
    {"providers: {mine: {}}\n", "c.yaml:1: providers.mine: \"kind\" is missing: openai, "},
    {"providers: {azure: {kind: openai}}\n", "c.yaml:1: providers.azure: \"base_url\" is missing"},
    {"providers: {a: {kind: openai, base_url: 'h:80'}}\n", "c.yaml:1: providers.a.base_url: "},
    {"providers: {a: {kind: openai, base_url: 'http://u:p@h/'}}\n",
     "c.yaml:1: providers.a.base_url: "},
    {"providers: {a: {kind: openai, base_url: http://h, format: deepseek_r}}\n",
     "c.yaml:1: providers.a.format: no format \"deepseek_r\", did you mean \"deepseek_r1\"?"},
    {"providers: {a: {kind: openai, base_url: http://h, format: zzzzzzzzz}}\n",
     "c.yaml:1: providers.a.format: no format \"zzzzzzzzz\"; `rationale split --formats` lists "
     "them"},
    {"providers: {a: {kind: openai, base_url: http://h, open: <x>}}\n",
     "c.yaml:1: providers.a.open: open and close belong together"},
    {"providers: {a: {kind: openai, format: think, open: <x>, close: </x>}}\n",
     "c.yaml:1: providers.a.open: give either format or open and close"},
    {"providers: {a: {kind: openai, open: <x>, close: <x>}}\n", "c.yaml:1: providers.a.open: "},
    {"providers: {a: {kind: openai, models: []}}\n",
     "c.yaml:1: providers.a.models: must name 1 to 4096 models; leave it out to serve any"},
    {"providers: {a: {kind: openai, models: [x, x]}}\n",
     "c.yaml:1: providers.a.models.1: this model is listed twice"},
    {"providers: {a: {kind: openai, models: [4]}}\n",
     "c.yaml:1: providers.a.models.0: expected string, got number: put it in quotes"},
    {"providers: {a: {kind: openai, models: {x: ''}}}\n", "c.yaml:1: providers.a.models.x: "},
    {"providers: {a: {kind: openai, api_key_env: sk-verysecret-1}}\n",
     "c.yaml:1: providers.a.api_key_env: must be the name of an environment variable, not the key "
     "itself"},
    {"providers: {a: {kind: openai, api_key_env: A, api_key_file: b}}\n",
     "c.yaml:1: providers.a.api_key_file: api_key_env says it already"},
    {"providers: {a: {kind: openai, retries: 4}}\n",
     "c.yaml:1: providers.a.retries: must be 0 to "
     "3"},
    {"providers: {a: {kind: openai, cassette: x}}\n",
     "c.yaml:1: providers.a.cassette: is for kind replay; to make recordings, use record"},
    {"providers: {a: {kind: replay}}\n",
     "c.yaml:1: providers.a: of kind replay \"cassette\" must name the file of recordings"},
    {"providers: {a: {kind: replay, cassette: x, base_url: y}}\n",
     "c.yaml:1: providers.a.base_url"},
    {"providers: {a: {kind: replay, base_url: http://x}}\n",
     "c.yaml:1: providers.a.base_url: must be a file"},
    {"providers: {a: {kind: openai, prices: {m: {input: -1}}}}\n",
     "c.yaml:1: providers.a.prices.m.input: must be 0 to 1000000"},
    {"providers: {a: {kind: openai, fallback: [a]}}\n",
     "c.yaml:1: providers.a.fallback.0: a provider cannot be its own fallback"},
    {"providers:\n  alpha: {kind: openai}\n  b: {kind: openai, fallback: [alhpa]}\n",
     "c.yaml:3: providers.b.fallback.0: no provider \"alhpa\", did you mean \"alpha\"?"},
    {"providers:\n  a: {kind: openai}\n  b: {kind: openai, fallback: [a, a]}\n",
     "c.yaml:3: providers.b.fallback.1: this fallback is listed twice"},
    {"providers:\n  a: {kind: openai, fallback: [b]}\n  b: {kind: openai, fallback: [a]}\n",
     "c.yaml:2: providers.a.fallback: these fallbacks lead back to \"a\""},
    /* keys */
    {P "keys: [{name: x}]\n", "c.yaml:2: keys.0: a key has either sha256 or key_env"},
    {P "keys: [{sha256: '" DIGEST "'}]\n", "c.yaml:2: keys.0: the property \"name\" is required"},
    {P "keys: [{name: x, sha256: rk-verysecret}]\n",
     "c.yaml:2: keys.0.sha256: must be 64 hex digits: see `rationale keys hash`"},
    {P "keys: [{name: x, sha256: '" DIGEST "0'}]\n", "c.yaml:2: keys.0.sha256: must be 64 hex"},
    {P "keys: [{name: x, key_env: rk-verysecret}]\n",
     "c.yaml:2: keys.0.key_env: must be the name of an environment variable"},
    {P "keys: [{name: x, key_env: NOT_SET_ANYWHERE}]\n",
     "c.yaml:2: keys.0.key_env: the environment variable NOT_SET_ANYWHERE is not set"},
    {P "keys: [{name: x, sha256: '" DIGEST "', rpm: 0}]\n",
     "c.yaml:2: keys.0.rpm: must be 1 to 1000000000"},
    {P "keys: [{name: x, sha256: '" DIGEST "', spend_usd: -1}]\n", "c.yaml:2: keys.0.spend_usd: "},
    {P "keys: [{name: x, sha256: '" DIGEST "', levels: [loud]}]\n", "c.yaml:2: keys.0.levels.0: "},
    {P "keys: [{name: x, sha256: '" DIGEST "', level: loud}]\n", "c.yaml:2: keys.0.level: "},
    {P "keys: [{name: x, sha256: '" DIGEST "', levels: [none, low], level: high}]\n",
     "c.yaml:2: keys.0.level: \"high\" is not one of the key's levels: add it to `levels`"},
    {P "keys:\n- {name: x, sha256: '" DIGEST "'}\n- {name: x, sha256: '" DIGEST "'}\n",
     "c.yaml:4: keys.1: there are two keys with this name"},
    {P "keys:\n- {name: x, sha256: '" DIGEST "'}\n- {name: y, sha256: '" DIGEST "'}\n",
     "c.yaml:4: keys.1: the same key as that of \"x\""},
};
/* clang-format on */

TEST(errors_name_file_line_path_and_what_is_allowed)
{
    size_t wrong = 0;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct config *c = NULL;
        struct err e = {.text = "nothing"};

        if (config_parse(str_c(bad[i].yaml), "c.yaml", &c, &e) ||
            strncmp(e.text, bad[i].error, strlen(bad[i].error)) != 0) {
            print_error("%s gave: %s\n not:  %s\n", bad[i].yaml, e.text, bad[i].error);
            wrong++;
        }
        CHECK_F(!strstr(e.text, "verysecret"), "%s", e.text);
    }
    CHECK_INT(wrong, 0);
}

TEST(a_value_of_the_environment_is_not_quoted)
{
    static const char *const yaml[] = {P "durability: ${THE_SECRET}\n",
                                       P "store: ${THE_SECRET}\n",
                                       P "threads: ${THE_SECRET}\n",
                                       P "listen: ${THE_SECRET}\n",
                                       P "body_max: ${THE_SECRET}\n",
                                       "providers: {a: {kind: openai, base_url: '${THE_SECRET}'}}",
                                       "providers: {a: {kind: '${THE_SECRET}'}}"};

    setenv("THE_SECRET", "hunter2-hunter2", 1);
    for (size_t i = 0; i < COUNT_OF(yaml); i++) {
        struct config *c;
        struct err e = {0};

        CHECK_F(!config_parse(str_c(yaml[i]), "c.yaml", &c, &e), "%s", yaml[i]);
        CHECK_F(!strstr(e.text, "hunter2"), "%s", e.text);
    }
}

TEST(depth_and_size_have_a_ceiling)
{
    struct buf b;
    struct config *c;
    struct err e = {0};

    buf_init(&b, 4 << 20);
    for (int i = 0; i < 100; i++)
        buf_add_c(&b, '[');
    CHECK(!config_parse(buf_str(&b), "c.yaml", &c, &e));
    CHECK_STR(str_c(e.text), "c.yaml:1: nested deeper than 64 levels");
    buf_reset(&b);
    while (b.n <= 1 << 20)
        buf_add(&b, STR("# and so on and on\n"));
    CHECK(!config_parse(buf_str(&b), "c.yaml", &c, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    setenv("LONG_VALUE", "0123456789012345678901234567890123456789012345678901234567890123", 1);
    buf_reset(&b);
    buf_add(&b, STR("a:\n"));
    while (b.n < 1000000)
        buf_add(&b, STR("- ${LONG_VALUE}${LONG_VALUE}${LONG_VALUE}${LONG_VALUE}\n"));
    (void)!config_parse(buf_str(&b), "c.yaml", &c, &e);
    buf_release(&b);
}

/* The provider would refuse a truncated key without telling why. */
TEST(a_key_file_that_is_too_large_is_a_warning)
{
    char path[] = "/tmp/config-key-XXXXXX", yaml[256];
    int fd = mkstemp(path);
    struct config *c;
    struct err e;

    CHECK(fd >= 0);
    for (int i = 0; i < 17000; i++)
        CHECK(write(fd, "k", 1) == 1);
    close(fd);
    (void)snprintf(yaml, sizeof yaml, "store: none\nproviders:\n  xai: {api_key_file: %s}\n", path);
    CHECK_F(config_parse(str_c(yaml), "r.yaml", &c, &e), "%s", e.text);
    CHECK(c->warning_count == 1 && !c->providers[0].key.page);
    CHECK(str_find(c->warnings[0], STR("more than 16384 bytes")) != STR_NONE);
    config_release(c);
    (void)unlink(path);
}

TEST(a_base_url_with_a_route_is_a_warning)
{
    static const struct {
        const char *kind, *url, *write; /* write: the URL of the advice; NULL: no warning */
    } cases[] = {
        {"openai", "http://localhost/v1/chat/completions", "twice, write http://localhost/v1"},
        {"anthropic", "http://localhost/v1/messages/", "twice, write http://localhost/v1"},
        {"gemini", "http://localhost/v1/models/m:generateContent", "write http://localhost/v1"},
        {"gemini", "http://localhost/mygenerateContent", NULL},
        {"openai", "http://localhost/messages/v1", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[200];
        struct config *c;
        struct err e;

        (void)snprintf(yaml,
                       sizeof yaml,
                       "providers: {a: {kind: %s, base_url: '%s'}}\n",
                       cases[i].kind,
                       cases[i].url);
        CHECK_F(config_parse(str_c(yaml), "c.yaml", &c, &e), "%s", e.text);
        CHECK_F(c->warning_count == (cases[i].write != NULL), "%s", yaml);
        CHECK_F(!cases[i].write || str_ends(c->warnings[0], str_c(cases[i].write)), "%s", yaml);
        config_release(c);
    }
}

TEST_MAIN(T(a_key_file_that_is_too_large_is_a_warning),
          T(errors_name_file_line_path_and_what_is_allowed),
          T(a_base_url_with_a_route_is_a_warning), T(a_value_of_the_environment_is_not_quoted),
          T(depth_and_size_have_a_ceiling))
