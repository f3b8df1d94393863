-- Access that people have in one report (`$side`) and not in the other: `now` and `earlier`, or the
-- other way round. Assets move together from a source to the statements and longest list of the
-- other report; who is in neither of these had access at most by being one of the further owners.

CREATE TEMPORARY TABLE ${change}_move AS
SELECT n.way, n.source, b.stated, b.mainly, a.is_on_both, count(*) AS assets, min(a.asset) AS example
FROM ${side}_asset_source n
JOIN every_asset a USING (entity)
LEFT JOIN ${other}_position e USING (way, entity)
LEFT JOIN ${other}_bundle b USING (bundle)
GROUP BY n.way, n.source, b.stated, b.mainly, a.is_on_both;

CREATE TEMPORARY TABLE ${change}_person AS
SELECT m.*, p.user_id
FROM ${change}_move m
JOIN ${side}_source_person p USING (source)
WHERE NOT EXISTS (
    SELECT 1 FROM ${other}_source_person e WHERE e.source = m.stated AND e.user_id = p.user_id)
  AND NOT EXISTS (
    SELECT 1 FROM ${other}_source_person e WHERE e.source = m.mainly AND e.user_id = p.user_id);

-- Of how many of these assets they were further owners.
CREATE TEMPORARY TABLE ${change}_kept AS
SELECT m.way, m.source, m.stated, m.mainly, p.user_id, sum(m.assets)::BIGINT AS assets
FROM (
    SELECT n.way, n.source, b.stated, b.mainly, b.further, count(*) AS assets
    FROM ${side}_asset_source n
    JOIN ${other}_position e USING (way, entity)
    JOIN ${other}_bundle b USING (bundle)
    WHERE b.further IS NOT NULL
    GROUP BY n.way, n.source, b.stated, b.mainly, b.further
) m
JOIN ${other}_source_person p ON p.source = m.further
GROUP BY m.way, m.source, m.stated, m.mainly, p.user_id;

CREATE TEMPORARY TABLE ${change} AS
SELECT p.*, p.assets - coalesce(k.assets, 0) AS more
FROM ${change}_person p
LEFT JOIN ${change}_kept k
  ON k.way = p.way AND k.source = p.source AND k.stated = p.stated AND k.mainly = p.mainly
 AND k.user_id = p.user_id
WHERE p.assets > coalesce(k.assets, 0);
DROP TABLE ${change}_person;
DROP TABLE ${change}_kept;

-- One of the assets, where not all of them changed.
CREATE TEMPORARY TABLE ${change}_example AS
SELECT g.way, g.source, g.stated, g.mainly, g.user_id, min(a.asset) AS example
FROM ${change} g
JOIN ${side}_asset_source n ON n.way = g.way AND n.source = g.source
JOIN every_asset a ON a.entity = n.entity
JOIN ${other}_position e ON e.way = n.way AND e.entity = n.entity
JOIN ${other}_bundle b ON b.bundle = e.bundle AND b.stated = g.stated AND b.mainly = g.mainly
WHERE g.more < g.assets AND NOT EXISTS (
    SELECT 1 FROM ${other}_source_person f WHERE f.source = b.further AND f.user_id = g.user_id)
GROUP BY g.way, g.source, g.stated, g.mainly, g.user_id;

CREATE TEMPORARY TABLE ${change}_pairs AS
SELECT DISTINCT b.class, g.user_id
FROM ${change} g
JOIN ${side}_bundle b ON b.stated = g.source;
