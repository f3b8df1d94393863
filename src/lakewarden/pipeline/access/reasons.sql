-- Why, for pairs of a class and a person (`${pairs}`: class, user_id): the grants of the class that
-- are about anybody as whom the person acts. Pairs with the same grants share one text.

CREATE TEMPORARY TABLE ${pairs}_mark AS
SELECT p.class, p.user_id, bit_xor(g.mark) AS mark
FROM ${pairs} p
JOIN ${side}_holder_user h USING (user_id)
JOIN ${side}_class_grant g ON g.class = p.class AND g.principal = h.principal
GROUP BY p.class, p.user_id;

CREATE TEMPORARY TABLE ${pairs}_text AS
SELECT m.class, m.mark,
       string_agg(said, '; ' ORDER BY said) AS reason
FROM (
    SELECT o.class, o.mark, h.holder || ' has ' || g.reason AS said
    FROM (SELECT class, mark, min(user_id) AS user_id FROM ${pairs}_mark GROUP BY class, mark) o
    JOIN ${side}_holder_user h USING (user_id)
    JOIN ${side}_class_grant g ON g.class = o.class AND g.principal = h.principal
) m
GROUP BY m.class, m.mark;

CREATE TEMPORARY VIEW ${pairs}_reason AS
SELECT p.class, p.user_id,
       CASE WHEN c.said = '${stated}' THEN coalesce(t.reason, c.said) ELSE c.said END AS reason
FROM ${pairs} p
JOIN ${side}_class_person c ON c.class = p.class AND c.user_id = p.user_id
LEFT JOIN ${pairs}_mark m ON m.class = p.class AND m.user_id = p.user_id
LEFT JOIN ${pairs}_text t ON t.class = m.class AND t.mark = m.mark;
