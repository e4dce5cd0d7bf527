-- The texts of calls whose block is not packed yet are deleted soon: compressing them one by one
-- took a tenth of the server's CPU. Those of most calls fit into a page.
ALTER TABLE call_texts ALTER COLUMN texts SET STORAGE EXTERNAL;
ALTER TABLE call_texts SET (toast_tuple_target = 8160);
