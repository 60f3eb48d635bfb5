-- A record may have the same bytes under several names. A name has at most 255 characters, which fit an index.

ALTER TABLE attachments DROP CONSTRAINT attachments_pkey, ADD PRIMARY KEY (seq, sha256, name);
