-- Where the people of an asset come from, of `now` or of `earlier`. An asset has up to three
-- *sources*, and no person is in two of them:
--   stated    by the statements of its class
--   mainly    the longest of the lists of people in its list of owners
--   further   its other owners
-- Few assets share all owners, and very many share the longest list (of who owns their catalog, for
-- instance). So all sources together have few people, and what is asked by person adds up sources.

CREATE TEMPORARY TABLE ${side}_main AS
SELECT t.owners, m.people, m.is_all, string_agg(DISTINCT t.reason, '; ' ORDER BY t.reason) AS reason
FROM ${side}_owner_tie t
JOIN (
    SELECT o.owners, arg_max(o.people, n.n * 4294967296 + o.people) AS people,
           count(DISTINCT o.people) = 1 AS is_all
    FROM ${side}_owner_tie o
    JOIN (SELECT people, count(*) AS n FROM ${side}_list_person GROUP BY people) n USING (people)
    GROUP BY o.owners
) m ON m.owners = t.owners AND m.people = t.people
GROUP BY t.owners, m.people, m.is_all;

-- Assets with the same class and the same owners.
CREATE TEMPORARY TABLE ${side}_bundle AS
SELECT row_number() OVER (ORDER BY s.class, s.owners) AS bundle,
       s.class, s.owners, m.people, m.reason,
       3 * dense_rank() OVER (ORDER BY s.class) AS stated,
       CASE WHEN s.owners IS NOT NULL
            THEN 3 * dense_rank() OVER (ORDER BY s.class, m.people, m.reason) + 1 END AS mainly,
       CASE WHEN NOT m.is_all
            THEN 3 * dense_rank() OVER (ORDER BY s.class, s.owners) + 2 END AS further
FROM (SELECT DISTINCT class, owners FROM ${side}_standing) s
LEFT JOIN ${side}_main m USING (owners);

CREATE TEMPORARY TABLE ${side}_position AS
SELECT s.way, s.entity, b.bundle
FROM ${side}_standing s
JOIN ${side}_bundle b ON b.class = s.class AND b.owners IS NOT DISTINCT FROM s.owners;
DROP TABLE ${side}_standing;

CREATE TEMPORARY TABLE ${side}_bundle_source AS
SELECT bundle, source
FROM (SELECT bundle, unnest([stated, mainly, further]) AS source FROM ${side}_bundle)
WHERE source IS NOT NULL;

CREATE TEMPORARY VIEW ${side}_asset_source AS
SELECT p.way, p.entity, s.source
FROM ${side}_position p
JOIN ${side}_bundle_source s USING (bundle);

-- `owns` is the reason, except of statements.
CREATE TEMPORARY TABLE ${side}_source_person AS
SELECT b.stated AS source, c.user_id, NULL::VARCHAR AS owns
FROM (SELECT DISTINCT stated, class FROM ${side}_bundle) b
JOIN ${side}_class_person c USING (class)
UNION ALL
SELECT b.mainly, l.user_id, b.reason
FROM (
    SELECT DISTINCT mainly, class, people, reason FROM ${side}_bundle WHERE mainly IS NOT NULL
) b
JOIN ${side}_list_person l USING (people)
WHERE NOT EXISTS (
    SELECT 1 FROM ${side}_class_person c WHERE c.class = b.class AND c.user_id = l.user_id)
UNION ALL
SELECT b.further, l.user_id, string_agg(DISTINCT t.reason, '; ' ORDER BY t.reason)
FROM (
    SELECT DISTINCT further, class, owners, people FROM ${side}_bundle WHERE further IS NOT NULL
) b
JOIN ${side}_owner_tie t ON t.owners = b.owners AND t.people <> b.people
JOIN ${side}_list_person l ON l.people = t.people
WHERE NOT EXISTS (
    SELECT 1 FROM ${side}_class_person c WHERE c.class = b.class AND c.user_id = l.user_id)
  AND NOT EXISTS (
    SELECT 1 FROM ${side}_list_person m WHERE m.people = b.people AND m.user_id = l.user_id)
GROUP BY b.further, l.user_id;
