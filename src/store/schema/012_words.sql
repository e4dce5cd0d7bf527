-- The index of words says by name how it finds them, in the way it always has: so the program may
-- put a faster one in the place of that name (store/db_sqlite_words.c), which the unnamed default
-- does not let it. No row changes, and the index stays as it is.
PRAGMA writable_schema = ON;
UPDATE sqlite_master SET sql = replace(sql, 'content = ', 'tokenize = ''unicode61'', content = ')
    WHERE type = 'table' AND name IN ('decisions_text', 'interactions_text')
    AND sql NOT LIKE '%tokenize%';
PRAGMA writable_schema = RESET;
