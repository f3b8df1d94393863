"""The steps from schema to schema, each with its way back.

From 0014 on a step declares `usable_from`: the oldest schema whose release may go on to use the
store beside the newer one. A step that only adds (tables, indexes, columns with a default) names
that of an earlier release. One that takes away, or changes what a row means, names the schema
that stopped using it, which has to be that of an earlier release: then neighbours can run side
by side, and who is older is refused. See docs/upgrading.md.
"""
