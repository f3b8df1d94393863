"""The steps from schema to schema, each with its way back.

From 0014 on a step declares `usable_from`: the oldest schema whose release may continue to use the
store beside the newer one. A step that only adds (tables, indexes, columns with a default) names
the schema of an earlier release. A step that removes something, or changes the meaning of a row,
names the schema that stopped using it. That schema must belong to an earlier release: then
neighbouring releases can run side by side, and older ones are refused. See docs/upgrading.md.
"""
