-- Where the data that a page is rendered with are kept, if there are any.

ALTER TABLE render ADD COLUMN data_key text;
