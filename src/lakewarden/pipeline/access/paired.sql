-- The assets of which every pair is listed, and people by tag and owner: `which` is all, sensitive
-- or none.
CREATE TEMPORARY TABLE paired AS
SELECT id AS entity FROM asset
WHERE CASE $which
    WHEN 'all' THEN true
    WHEN 'sensitive' THEN id IN (SELECT entity FROM sensitive_asset)
    ELSE false END
