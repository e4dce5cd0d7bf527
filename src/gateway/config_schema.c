/* config_schema.c - the shape of the configuration, as JSON Schema.
 *
 * It says which names there are, which types they have and which must be given; bounds, units and
 * what one value demands of another are checked where it is built. Quotes are single here and are
 * turned round once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

/* clang-format off */
#define TEXT "{'type':'string'}"
#define FLAG "{'type':'boolean'}"
#define COUNT "{'type':'integer'}"
#define AMOUNT "{'type':'number'}"
#define MEASURE "{'type':['string','number']}"
#define NAME "{'type':'string','minLength':1}"
#define NAMES "{'type':'array','items':" NAME "}"
#define FILES "{'type':['string','array'],'minLength':1,'minItems':1,'items':" NAME "}"
#define WORD "{'type':['string','number','boolean']}"
#define SCHEMA "{'type':['string','object']}"
#define ONE_OF(words) "{'enum':[" words "]}"
#define OBJECT(members) "{'type':'object','additionalProperties':false,'properties':{" members "}}"
#define OBJECTS(of) "{'type':'object','additionalProperties':" of "}"

#define LEVEL ONE_OF("'none','minimal','low','medium','high','xhigh','max'")

#define KEY \
    "{'type':'object','additionalProperties':false,'required':['name'],'properties':{" \
    "'name':" NAME ",'sha256':" TEXT ",'key_env':" TEXT ",'models':" NAMES "," \
    "'levels':{'type':'array','minItems':1,'items':" \
    LEVEL "},'level':" LEVEL "," \
    "'rpm':" COUNT ",'tpm':" COUNT ",'spend_usd':" AMOUNT "," \
    "'reasoning':" ONE_OF("'show','hide'") ",'role':" ONE_OF("'client','operator'") "}}"

#define RATES "'input':" AMOUNT ",'output':" AMOUNT ",'cache_read':" AMOUNT ",'cache_write':" AMOUNT
#define PRICE OBJECT(RATES ",'above':" OBJECT("'tokens':" COUNT "," RATES))

#define KINDS "'openai','responses','anthropic','gemini','mistral','ollama','replay'"
#define MODELS "{'type':['array','object'],'items':" NAME ",'additionalProperties':" NAME "}"

#define PROVIDER OBJECT( \
    "'kind':" ONE_OF(KINDS) ",'base_url':" TEXT "," \
    "'api_key_env':" TEXT ",'api_key_file':" TEXT "," \
    "'models':" MODELS ",'prices':" OBJECTS(PRICE) "," \
    "'enable_reasoning':" FLAG ",'reasoning_params':{'type':'object'}," \
    "'format':" TEXT ",'open':" TEXT ",'close':" TEXT ",'starts_in_reasoning':" FLAG "," \
    "'level':" LEVEL "," \
    "'fallback':" NAMES ",'cassette':" NAME ",'record':" TEXT "," \
    "'connect_timeout':" MEASURE ",'first_token_timeout':" MEASURE ",'stall_timeout':" MEASURE "," \
    "'retries':" COUNT ",'backoff':" MEASURE)

#define PRESET OBJECT( \
    "'temperature':{'type':['number','null']},'top_p':{'type':['number','null']}," \
    "'reasoning_max_tokens':" COUNT ",'show':" FLAG ",'repair_starved':" FLAG)
#define PRESETS OBJECT( \
    "'low':" PRESET ",'medium':" PRESET ",'high':" PRESET ",'xhigh':" PRESET ",'max':" PRESET)

#define REASONING OBJECT( \
    "'show':" FLAG ",'keep':" ONE_OF("'none','summary','text'") ",'delta':" FLAG "," \
    "'presets':" ONE_OF("'asked','always'") ",'answer_tokens':" COUNT "," \
    "'repair_starved':" ONE_OF("'asked',true,false") "," \
    "'adaptive':" FLAG ",'drop_from_history':" FLAG)
#define PATTERN \
    "{'type':'object','additionalProperties':false,'required':['name','pattern'],'properties':{" \
    "'name':" NAME ",'pattern':" NAME ",'replacement':" TEXT ",'description':" TEXT "," \
    "'enabled':" FLAG "}}"
#define MASKING OBJECT( \
    "'enabled':" FLAG ",'pattern_groups':" NAMES "," \
    "'custom_patterns':{'type':'array','items':" PATTERN "}")
#define TIMEOUTS OBJECT( \
    "'header':" MEASURE ",'body':" MEASURE ",'idle':" MEASURE ",'write':" MEASURE "," \
    "'drain':" MEASURE ",'keepalive':" MEASURE)

#define SECRET(name) "'" name "_env':" TEXT ",'" name "_file':" TEXT
#define NOTIFY OBJECT( \
    "'slack':" OBJECT(SECRET("webhook_url") "," SECRET("token") ",'channel':" NAME "," \
        "'api_url':" NAME) "," \
    "'webhook':" OBJECT("'url':" NAME "," SECRET("secret") ",'headers':" OBJECTS(TEXT)) "," \
    "'email':" OBJECT("'server':" NAME ",'security':" ONE_OF("'starttls','tls','plain'") "," \
        "'username':" NAME "," SECRET("password") ",'from':" NAME ",'to':" NAMES) "," \
    "'events':{'type':'array','minItems':1,'items':" ONE_OF("'started','completed','failed'," \
        "'cancelled','approval','resolved'") "},'timeout':" MEASURE ",'retry_for':" MEASURE)
#define INCIDENTS OBJECT( \
    "'agents':" TEXT ",'runbooks':" TEXT ",'model':" TEXT ",'max_concurrent_alerts':" COUNT "," \
    "'default_alert_type':" TEXT ",'max_queue_size':" COUNT ",'timeout':" MEASURE "," \
    "'group_alerts':" FLAG ",'pagerduty_secret_env':" TEXT ",'grafana_secret_env':" TEXT "," \
    "'runbook_domains':" NAMES ",'public_url':" TEXT ",'silence_proposal':" MEASURE "," \
    "'notify':" OBJECTS(NOTIFY))
#define POLICY OBJECT( \
    "'documents':" OBJECTS(FILES) ",'search':" ONE_OF("'model','bm25'") ",'model':" TEXT "," \
    "'react_use_llm_controller':" FLAG ",'react_shadow_mode':" FLAG "," \
    "'react_fallback_enabled':" FLAG ",'react_ab_test_ratio':" AMOUNT "," \
    "'prompt_ab_test_ratio':" AMOUNT ",'ab_salt':" TEXT ",'optimize':" FLAG "," \
    "'train':" TEXT ",'val':" TEXT "," \
    "'max_tokens':" COUNT ",'timeout':" MEASURE)

#define AGENT OBJECT( \
    "'description':" TEXT ",'model':" NAME ",'prompt':" TEXT ",'level':" LEVEL "," \
    "'strategy':" ONE_OF("'native','react','classic'") ",'tools':" NAMES "," \
    "'output':" SCHEMA ",'approve':" NAMES ",'handoff':" NAMES "," \
    "'limits':" OBJECT("'steps':" COUNT ",'tokens':" COUNT ",'usd':" AMOUNT ",'time':" MEASURE) \
    ",'guard':" OBJECT("'input':" NAME ",'output':" NAME))
#define MCP OBJECT( \
    "'command':" NAME ",'args':{'type':'array','items':" WORD "},'env':" OBJECTS(WORD) "," \
    "'cwd':" NAME ",'url':" NAME ",'headers':" OBJECTS(TEXT))
#define HTTP \
    "{'type':'object','additionalProperties':false,'required':['url'],'properties':{" \
    "'method':" ONE_OF("'GET','POST','PUT','PATCH','DELETE'") ",'url':" NAME "," \
    "'schema':" SCHEMA ",'description':" TEXT ",'headers':" OBJECTS(TEXT) "," \
    "'read_only':" FLAG ",'idempotent':" FLAG "}}"
#define TOOL_SOURCE OBJECT( \
    "'mcp':" MCP ",'openapi':" NAME ",'base_url':" NAME ",'headers':" OBJECTS(TEXT) "," \
    "'http':" HTTP ",'timeout':" MEASURE)
#define STAGE OBJECT( \
    "'agents':{'type':'array','minItems':1,'items':" NAME "},'agent':" NAME "," \
    "'replicas':" COUNT ",'parallel':" FLAG ",'success':" ONE_OF("'any','all'"))
#define WORKFLOW "{'type':'array','minItems':1,'maxItems':32,'items':" STAGE "}"

/* In four, because no literal may be longer than 4095 characters. */
static const char first[] =
    "{'type':'object','additionalProperties':false,'required':['providers'],'properties':{"
    "'listen':" TEXT ","
    "'store':" TEXT ","
    "'spool':" TEXT ","
    "'journal':" OBJECT("'max':" MEASURE ",'wait':" MEASURE) ","
    "'retention':" OBJECT("'age':" MEASURE ",'minimum':" MEASURE ",'size':" MEASURE) ","
    "'durability':" ONE_OF("'durable','fast','replicated'") ","
    "'unrecorded':" ONE_OF("'refuse','pass'") ","
    "'keys':{'type':'array','items':" KEY "},"
    "'providers':{'type':'object','minProperties':1,'additionalProperties':" PROVIDER "},"
    "'reasoning':" REASONING ","
    "'prices':" ONE_OF("'builtin','none'") ",";
static const char second[] =
    "'llm':" OBJECT("'reasoning_presets':" PRESETS) ","
    "'data_masking':" MASKING ","
    "'tls':" OBJECT("'cert':" TEXT ",'key':" TEXT) ","
    "'ca_file':" TEXT ","
    "'threads':" COUNT ","
    "'otlp':" OBJECT("'endpoint':" TEXT ",'headers':" OBJECTS(TEXT)) ","
    "'timeouts':" TIMEOUTS ","
    "'body_max':" MEASURE ","
    "'policy':" POLICY ","
    "'orders':" OBJECT("'menu':" TEXT ",'model':" TEXT ","
        "'max_pieces':" COUNT ",'max_price':" AMOUNT) ","
    "'breaker':" OBJECT("'failures':" COUNT ",'open':" MEASURE) ","
    "'probe':" OBJECT("'interval':" MEASURE) ","
    "'log':" OBJECT("'level':" ONE_OF("'debug','info','warn','error'")) ",";
static const char third[] = "'incidents':" INCIDENTS ",";
static const char fourth[] =
    "'agents':" OBJECTS(AGENT) ","
    "'agents_folder':" TEXT ","
    "'tools':" OBJECTS(TOOL_SOURCE) ","
    "'workflows':" OBJECTS(WORKFLOW)
    "}}";
static const char agent[] = AGENT;
/* clang-format on */

str config_schema_text(struct arena *a, str quoted)
{
    char *out = arena_alloc(a, quoted.n);

    for (size_t i = 0; i < quoted.n; i++)
        out[i] = (char)(quoted.p[i] == '\'' ? '"' : quoted.p[i]);
    return (str){out, quoted.n};
}

str config_schema(struct arena *a)
{
    str rest = arena_join(a, str_c(third), str_c(fourth), STR(""));

    return config_schema_text(a, arena_join(a, str_c(first), str_c(second), rest));
}

str config_agent_schema(struct arena *a)
{
    return config_schema_text(a, str_c(agent));
}
