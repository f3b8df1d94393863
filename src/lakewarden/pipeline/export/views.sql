-- Questions to the tables of an export. The same text runs in DuckDB and in Spark SQL, once the
-- tables are declared (tables.duckdb.sql, tables.spark.sql).

-- The users of each crowd.
CREATE OR REPLACE TEMPORARY VIEW crowd_people AS
SELECT c.crowd, a.user_id
FROM crowd_principals c
JOIN acts_as a ON a.principal = c.principal
UNION
SELECT c.crowd, u.id AS user_id
FROM crowd_role_sets c
JOIN users u ON u.role_set = c.role_set
UNION
SELECT crowd, user_id
FROM crowd_users;

-- The users who have the ties to an entity that a need asks for.
CREATE OR REPLACE TEMPORARY VIEW meeting AS
SELECT DISTINCT m.need, m.entity, a.user_id
FROM meets m
JOIN acts_as a ON a.principal = m.principal
WHERE NOT m.exactly OR a.user_id = m.principal;

-- Who is let in where, and by what need: every pair of a user and an entity, by matter.
CREATE OR REPLACE TEMPORARY VIEW allowed AS
SELECT c.matter, c.entity, p.user_id, d.need
FROM classes c
JOIN decisions d ON d.class = c.class
JOIN crowd_people p ON p.crowd = d.crowd
WHERE d.need < 2
UNION ALL
SELECT c.matter, c.entity, p.user_id, d.need
FROM classes c
JOIN decisions d ON d.class = c.class
JOIN meeting t ON t.need = d.need AND t.entity = c.entity
JOIN crowd_people p ON p.crowd = d.crowd AND p.user_id = t.user_id
WHERE d.need >= 2;

-- Who can do what on what, and through what. One row for each way: somebody who owns a table and
-- its schema may be there twice.
CREATE OR REPLACE TEMPORARY VIEW who_can AS
SELECT q.kind, q.name AS question, e.type, e.name AS entity, e.id AS entity_id,
       u.name AS user_name, u.id AS user_id, n.says AS via
FROM allowed a
JOIN questions q ON q.matter = a.matter
JOIN entities e ON e.id = a.entity
JOIN users u ON u.id = a.user_id
JOIN needs n ON n.id = a.need;

-- On how many entities a user can do what.
CREATE OR REPLACE TEMPORARY VIEW what_can AS
SELECT user_name, kind, question, type, COUNT(DISTINCT entity_id) AS entities
FROM who_can
GROUP BY user_name, kind, question, type;

-- The ALLOWs that speak to somebody who is let in, on what, and over which principal.
CREATE OR REPLACE TEMPORARY VIEW why AS
SELECT DISTINCT w.kind, w.question, w.type, w.entity, w.entity_id, w.user_name,
       s.statement, s.privilege, p.kind AS principal_kind, p.name AS principal
FROM who_can w
JOIN questions q ON q.kind = w.kind AND q.name = w.question AND q.type = w.type
JOIN classes c ON c.matter = q.matter AND c.entity = w.entity_id
JOIN class_statements s ON s.class = c.class AND s.effect = 'allow'
JOIN statement_principals t ON t.statement = s.statement
JOIN acts_as a ON a.principal = t.principal AND a.user_id = w.user_id
JOIN principals p ON p.id = t.principal;

-- What lies in what, at any depth.
CREATE OR REPLACE TEMPORARY VIEW inside AS
SELECT c.type AS container_type, c.name AS container, e.id AS entity_id, e.type, e.name
FROM entities c
JOIN entities e ON e.id > c.id AND e.id <= c.last;
