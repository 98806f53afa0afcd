-- Each uploaded fragment index has a blob of its own; NULL: it has the key of earlier versions, or
-- was made when the file was processed.
ALTER TABLE file ADD COLUMN uploaded_index_key text;
