// simdjson's on-demand interface behind a C face, used as a gateway would: one parser kept from
// document to document, a padded buffer, one walk over everything.
//
// SPDX-License-Identifier: Apache-2.0
#include "json_bench.h"

#include <simdjson.h>

using namespace simdjson;

struct json_bench_simd {
    ondemand::parser parser;
};

namespace
{

bool walk(ondemand::value v, bool unescape, json_bench_sum &sum);

bool take(simdjson_result<std::string_view> text, json_bench_sum &sum)
{
    std::string_view s;
    if (std::move(text).get(s))
        return false;
    sum.strings++;
    sum.string_bytes += s.size();
    return true;
}

bool walk_object(ondemand::object object, bool unescape, json_bench_sum &sum)
{
    for (auto field : object) {
        ondemand::field f;
        if (std::move(field).get(f))
            return false;
        if (unescape) {
            if (!take(f.unescaped_key(), sum))
                return false;
        } else {
            sum.strings += f.key().raw()[0] != '\0';
        }
        if (!walk(f.value(), unescape, sum))
            return false;
    }
    return true;
}

bool walk_array(ondemand::array array, bool unescape, json_bench_sum &sum)
{
    for (auto element : array) {
        ondemand::value v;
        if (std::move(element).get(v) || !walk(v, unescape, sum))
            return false;
    }
    return true;
}

template <typename V> bool walk_any(V &v, bool unescape, json_bench_sum &sum)
{
    ondemand::json_type type;
    if (v.type().get(type))
        return false;
    switch (type) {
    case ondemand::json_type::object: {
        ondemand::object o;
        return !v.get_object().get(o) && walk_object(o, unescape, sum);
    }
    case ondemand::json_type::array: {
        ondemand::array a;
        return !v.get_array().get(a) && walk_array(a, unescape, sum);
    }
    case ondemand::json_type::string: {
        ondemand::raw_json_string raw;
        if (unescape)
            return take(v.get_string(), sum);
        if (v.get_raw_json_string().get(raw))
            return false;
        sum.strings += raw.raw()[0] != '\0';
        return true;
    }
    case ondemand::json_type::number: {
        std::string_view token;
        if (simdjson_result<std::string_view>(v.raw_json_token()).get(token))
            return false;
        while (!token.empty() && (token.back() == ' ' || token.back() == '\n'))
            token.remove_suffix(1);
        sum.numbers++;
        sum.number_bytes += token.size();
        return true;
    }
    case ondemand::json_type::boolean: {
        bool b;
        sum.others++;
        return !v.get_bool().get(b);
    }
    case ondemand::json_type::null:
        sum.others++;
        return v.is_null();
    }
    return false;
}

bool walk(ondemand::value v, bool unescape, json_bench_sum &sum)
{
    return walk_any(v, unescape, sum);
}

} // namespace

json_bench_simd *json_bench_simd_new(void)
{
    return new json_bench_simd;
}

void json_bench_simd_free(json_bench_simd *s)
{
    delete s;
}

const char *json_bench_simd_kernel(void)
{
    static const std::string names =
        get_active_implementation()->name() +
        " index, " SIMDJSON_STRINGIFY(SIMDJSON_BUILTIN_IMPLEMENTATION) " walk";
    return names.c_str();
}

size_t json_bench_simd_padding(void)
{
    return SIMDJSON_PADDING;
}

bool json_bench_simd_read(json_bench_simd *s, const char *p, size_t n, bool unescape,
                          json_bench_sum *sum)
{
    ondemand::document doc;
    if (s->parser.iterate(p, n, n + SIMDJSON_PADDING).get(doc))
        return false;
    ondemand::value root;
    if (doc.get_value().get(root))
        return false;
    return walk(root, unescape, *sum);
}
