-- What an export says by class, by access level (`ways`) and asset. The tables of the export are
-- declared, and so are `ways` (way, type, matter) and `labels` (entity, kind, label, sensitive).
-- Run in one go, in this order. Nothing here is as large as the pairs of a person and an asset:
-- what grows with assets has the number of a list of people, which many assets share.

CREATE TEMPORARY TABLE asset AS
SELECT e.id, e.type, e.type || ':' || e.name AS asset, p.type || ':' || p.name AS container
FROM entities e
LEFT JOIN entities p ON p.id = e.parent
WHERE e.stored AND e.type IN (SELECT type FROM ways);

CREATE TEMPORARY TABLE named AS
SELECT id, kind || ':' || name AS principal, name FROM principals;

-- The class of each asset. Of an asset without one nobody has access.
CREATE TEMPORARY TABLE way_class AS
SELECT w.way, c.entity, c.class
FROM classes c
JOIN ways w ON w.matter = c.matter
JOIN asset a ON a.id = c.entity;

CREATE TEMPORARY TABLE decision AS
SELECT class, need, crowd FROM decisions WHERE class IN (SELECT class FROM way_class);

CREATE TEMPORARY TABLE crowd_person AS
SELECT crowd, user_id FROM crowd_people
WHERE crowd IN (SELECT crowd FROM decision) AND user_id IN (SELECT id FROM users);

CREATE TEMPORARY TABLE now_class_person AS
SELECT c.class, c.user_id, n.says AS said
FROM (
    SELECT class, user_id, min(need) AS need
    FROM decision
    JOIN crowd_person USING (crowd)
    WHERE need < 2
    GROUP BY class, user_id
) c
JOIN needs n ON n.id = c.need;

-- The ALLOWs of a class, by whom they are about.
CREATE TEMPORARY TABLE class_privilege AS
SELECT s.class, t.principal, s.statement, s.privilege,
       dense_rank() OVER (ORDER BY t.principal, s.statement, s.privilege)::INTEGER AS number
FROM class_statements s
JOIN statement_principals t ON t.statement = s.statement
WHERE s.effect = 'allow' AND s.class IN (SELECT class FROM way_class);

CREATE TEMPORARY TABLE now_class_grant AS
SELECT g.class, g.principal, g.reason, md5_number(n.principal || g.reason) AS mark
FROM (
    SELECT class, principal,
           string_agg(DISTINCT privilege, ' and ' ORDER BY privilege)
           || ' (' || statement || ')' AS reason
    FROM class_privilege
    GROUP BY class, principal, statement
) g
JOIN named n ON n.id = g.principal;

CREATE TEMPORARY TABLE now_holder_user AS
SELECT a.principal, a.user_id, n.principal AS holder
FROM acts_as a
JOIN named n ON n.id = a.principal
WHERE a.principal IN (SELECT principal FROM now_class_grant)
  AND a.user_id IN (SELECT id FROM users);

-- Ownership, and a user's own entity: who meets which need on an asset, if in a crowd. The people
-- of such a principal in a crowd are a list, and all that is met on an asset is a list of these.
CREATE TEMPORARY TABLE met AS
SELECT w.way, w.entity, d.need, d.crowd, m.principal, m.exactly
FROM way_class w
JOIN decision d ON d.class = w.class AND d.need >= 2
JOIN meets m ON m.need = d.need AND m.entity = w.entity;

CREATE TEMPORARY TABLE holder AS
SELECT h.crowd, h.principal, h.exactly, list_sort(list(a.user_id)) AS users
FROM (SELECT DISTINCT crowd, principal, exactly FROM met) h
JOIN acts_as a ON a.principal = h.principal AND (NOT h.exactly OR a.user_id = h.principal)
JOIN crowd_person c ON c.crowd = h.crowd AND c.user_id = a.user_id
GROUP BY h.crowd, h.principal, h.exactly;

CREATE TEMPORARY TABLE class_list AS
SELECT class, said, list_sort(list(user_id)) AS users FROM now_class_person GROUP BY class, said;

CREATE TEMPORARY TABLE people_list AS
SELECT row_number() OVER (ORDER BY users)::INTEGER AS people, users
FROM (SELECT users FROM holder UNION SELECT users FROM class_list);

CREATE TEMPORARY TABLE now_list_person AS
SELECT people, unnest(users) AS user_id FROM people_list;

CREATE TEMPORARY TABLE tie AS
SELECT t.need, t.crowd, t.principal, t.exactly, l.people,
       dense_rank() OVER (ORDER BY t.need, t.principal, l.people)::INTEGER AS tie
FROM (SELECT DISTINCT need, crowd, principal, exactly FROM met) t
JOIN holder h USING (crowd, principal, exactly)
JOIN people_list l USING (users);

CREATE TEMPORARY TABLE asset_ties AS
SELECT m.way, m.entity, list_sort(list_distinct(list(t.tie))) AS ties
FROM met m
JOIN tie t USING (need, crowd, principal, exactly)
GROUP BY m.way, m.entity;
DROP TABLE met;

CREATE TEMPORARY TABLE owner_list AS
SELECT row_number() OVER (ORDER BY ties)::INTEGER AS owners, ties
FROM (SELECT DISTINCT ties FROM asset_ties);

CREATE TEMPORARY TABLE owner_tie AS
SELECT o.owners, t.people, n.says AS reason, p.principal AS holder
FROM (SELECT owners, unnest(ties) AS tie FROM owner_list) o
JOIN (SELECT DISTINCT tie, need, principal, people FROM tie) t USING (tie)
JOIN needs n ON n.id = t.need
JOIN named p ON p.id = t.principal;
CREATE TEMPORARY VIEW now_owner_tie AS SELECT owners, people, reason FROM owner_tie;

-- Names of lists are digests of what they hold, so that they do not depend on numbers.
CREATE TEMPORARY TABLE people_name AS
SELECT l.people, md5(string_agg(length(u.name) || ':' || u.name, '' ORDER BY u.name)) AS name
FROM now_list_person l
JOIN users u ON u.id = l.user_id
GROUP BY l.people;

CREATE TEMPORARY TABLE owners_name AS
SELECT owners, md5(string_agg(said, '' ORDER BY said)) AS name
FROM (
    SELECT t.owners, p.name || length(t.reason) || ':' || t.reason
           || length(t.holder) || ':' || t.holder AS said
    FROM owner_tie t
    JOIN people_name p USING (people)
)
GROUP BY owners;

CREATE TEMPORARY TABLE now_standing AS
SELECT w.way, w.entity, w.class, l.owners
FROM way_class w
LEFT JOIN asset_ties t USING (way, entity)
LEFT JOIN owner_list l USING (ties);
DROP TABLE asset_ties;

CREATE TEMPORARY TABLE label_lists AS
SELECT entity,
       coalesce(list(label ORDER BY label) FILTER (kind = 'domain'), []) AS domains,
       coalesce(list(label ORDER BY label) FILTER (kind IN ('tag', 'term')), []) AS tags,
       coalesce(list(label ORDER BY label) FILTER (sensitive), []) AS sensitive
FROM labels
GROUP BY entity;

CREATE TEMPORARY TABLE owner_lists AS
SELECT o.entity, list(DISTINCT n.principal ORDER BY n.principal) AS owners
FROM owners o
JOIN named n ON n.id = o.principal
GROUP BY entity;

CREATE TEMPORARY TABLE sensitive_asset AS
SELECT DISTINCT l.entity FROM labels l JOIN asset a ON a.id = l.entity WHERE l.sensitive;

CREATE TEMPORARY TABLE owned AS
SELECT DISTINCT o.entity, n.principal AS owner
FROM owners o
JOIN named n ON n.id = o.principal
JOIN asset a ON a.id = o.entity;
