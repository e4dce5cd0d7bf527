/* The metaschema of draft 2020-12, so that schemas can refer to it: the shape of each keyword, as
 * its specification has it. The vocabularies are resources within it, not documents beside it.
 *
 * It is written with ' for ", one piece a vocabulary, and put together when first referred to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/internal.h"

#define DRAFT "https://json-schema.org/draft/2020-12/"
#define ANY_SCHEMA "{'$dynamicRef':'#meta'}"
#define SCHEMA_MAP "{'type':'object','additionalProperties':" ANY_SCHEMA "}"
#define SCHEMA_LIST "{'$ref':'#/$defs/schemas'}"
#define TEXT "{'type':'string'}"
#define FLAG "{'type':'boolean'}"
#define URI "{'type':'string','format':'uri-reference'}"
#define ANCHOR "{'type':'string','pattern':'^[A-Za-z_][-A-Za-z0-9._]*$'}"
#define COUNT "{'$ref':'#/$defs/count'}"
#define NUMBER "{'type':'number'}"
#define NAMES "{'$ref':'#/$defs/names'}"
#define TYPE_NAME "{'$ref':'#/$defs/typeName'}"

#define BEGIN(name)                                                                                \
    "'" name "':{'$id':'meta/" name "','$schema':'" DRAFT "schema','$vocabulary':{'" DRAFT         \
    "vocab/" name "':true},'$dynamicAnchor':'meta','type':['object','boolean'],'properties':{"

static const char *const pieces[] = {
    "{'$id':'" DRAFT "schema','$schema':'" DRAFT "schema','$vocabulary':{",
    "'" DRAFT "vocab/core':true,'" DRAFT "vocab/applicator':true,",
    "'" DRAFT "vocab/unevaluated':true,'" DRAFT "vocab/validation':true,",
    "'" DRAFT "vocab/meta-data':true,'" DRAFT "vocab/format-annotation':true,",
    "'" DRAFT "vocab/content':true},'$dynamicAnchor':'meta','type':['object','boolean'],",
    "'allOf':[{'$ref':'meta/core'},{'$ref':'meta/applicator'},{'$ref':'meta/unevaluated'},",
    "{'$ref':'meta/validation'},{'$ref':'meta/meta-data'},{'$ref':'meta/format-annotation'},",
    "{'$ref':'meta/content'}],'properties':{'definitions':" SCHEMA_MAP ",",
    "'dependencies':{'type':'object','additionalProperties':{'anyOf':[" ANY_SCHEMA ",",
    "{'type':'array','items':" TEXT "}]}}},'$defs':{",

    BEGIN("core"),
    "'$id':{'type':'string','format':'uri-reference','pattern':'^[^#]*#?$'},",
    "'$schema':" URI ",'$ref':" URI ",'$anchor':" ANCHOR ",'$dynamicRef':" URI ",",
    "'$dynamicAnchor':" ANCHOR ",'$comment':" TEXT ",'$defs':" SCHEMA_MAP ",",
    "'$vocabulary':{'type':'object','propertyNames':" URI ",'additionalProperties':" FLAG "}}},",

    BEGIN("applicator"),
    "'prefixItems':" SCHEMA_LIST ",'items':" ANY_SCHEMA ",'contains':" ANY_SCHEMA ",",
    "'properties':" SCHEMA_MAP ",'patternProperties':{'type':'object',",
    "'propertyNames':{'format':'regex'},'additionalProperties':" ANY_SCHEMA "},",
    "'additionalProperties':" ANY_SCHEMA ",'propertyNames':" ANY_SCHEMA ",",
    "'dependentSchemas':" SCHEMA_MAP ",'allOf':" SCHEMA_LIST ",'anyOf':" SCHEMA_LIST ",",
    "'oneOf':" SCHEMA_LIST ",'not':" ANY_SCHEMA ",'if':" ANY_SCHEMA ",'then':" ANY_SCHEMA ",",
    "'else':" ANY_SCHEMA "},'$defs':{'schemas':{'type':'array','minItems':1,'items':" ANY_SCHEMA,
    "}}},",

    BEGIN("unevaluated"),
    "'unevaluatedItems':" ANY_SCHEMA ",'unevaluatedProperties':" ANY_SCHEMA "}},",

    BEGIN("validation"),
    "'type':{'anyOf':[" TYPE_NAME ",{'type':'array','items':" TYPE_NAME ",'minItems':1,",
    "'uniqueItems':true}]},'const':true,'enum':{'type':'array'},",
    "'multipleOf':{'type':'number','exclusiveMinimum':0},'minimum':" NUMBER ",",
    "'maximum':" NUMBER ",'exclusiveMinimum':" NUMBER ",'exclusiveMaximum':" NUMBER ",",
    "'minLength':" COUNT ",'maxLength':" COUNT ",'pattern':{'type':'string','format':'regex'},",
    "'minItems':" COUNT ",'maxItems':" COUNT ",'uniqueItems':" FLAG ",'minContains':" COUNT ",",
    "'maxContains':" COUNT ",'minProperties':" COUNT ",'maxProperties':" COUNT ",",
    "'required':" NAMES ",'dependentRequired':{'type':'object','additionalProperties':" NAMES "}},",
    "'$defs':{'count':{'type':'integer','minimum':0},",
    "'names':{'type':'array','items':" TEXT ",'uniqueItems':true},",
    "'typeName':{'enum':['array','boolean','integer','null','number','object','string']}}},",

    BEGIN("meta-data"),
    "'title':" TEXT ",'description':" TEXT ",'default':true,'deprecated':" FLAG ",",
    "'readOnly':" FLAG ",'writeOnly':" FLAG ",'examples':{'type':'array'}}},",

    BEGIN("format-annotation"),
    "'format':" TEXT "}},",

    BEGIN("content"),
    "'contentEncoding':" TEXT ",'contentMediaType':" TEXT ",'contentSchema':" ANY_SCHEMA "}}}}",
};

void schema_meta_add(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        for (const char *p = pieces[i]; *p; p++)
            buf_add_c(out, *p == '\'' ? '"' : *p);
}
