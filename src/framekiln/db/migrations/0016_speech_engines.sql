-- Which engine made a transcription, and what its readers must know about that.

ALTER TABLE transcription
    ADD COLUMN engine text,
    ADD COLUMN warnings text[] NOT NULL DEFAULT '{}';
