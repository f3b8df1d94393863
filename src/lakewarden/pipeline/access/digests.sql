-- Names of classes and crowds as one enumeration: joins compare numbers. To be run between the
-- tables and the views of an export.
CREATE TYPE digest AS ENUM (
    SELECT class FROM classes
    UNION SELECT class FROM decisions
    UNION SELECT crowd FROM decisions
    ORDER BY 1);

CREATE OR REPLACE TEMPORARY VIEW classes AS
SELECT * REPLACE (class::digest AS class) FROM read_parquet('classes/*.parquet');

CREATE OR REPLACE TEMPORARY VIEW decisions AS
SELECT * REPLACE (class::digest AS class, crowd::digest AS crowd)
FROM read_parquet('decisions/*.parquet');

CREATE OR REPLACE TEMPORARY VIEW class_statements AS
SELECT * REPLACE (class::digest AS class) FROM read_parquet('class_statements/*.parquet');

CREATE OR REPLACE TEMPORARY VIEW crowd_principals AS
SELECT * REPLACE (crowd::digest AS crowd) FROM read_parquet('crowd_principals/*.parquet');

CREATE OR REPLACE TEMPORARY VIEW crowd_role_sets AS
SELECT * REPLACE (crowd::digest AS crowd) FROM read_parquet('crowd_role_sets/*.parquet');

CREATE OR REPLACE TEMPORARY VIEW crowd_users AS
SELECT * REPLACE (crowd::digest AS crowd) FROM read_parquet('crowd_users/*.parquet');
