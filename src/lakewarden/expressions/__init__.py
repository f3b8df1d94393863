"""The expressions of row filters and column masks: a small part of SQL that engines agree on.

    parser     text to nodes; what is not in the language is refused
    checker    the types of nodes, and what an engine cannot say
    renderer   nodes to the SQL of one engine, with the values of one user
    engines    the engines, and what each cannot say
    lookup     tables of values with which expressions compare
    masks      what a mask puts in the place of a value, and which mask is the strictest
    query      a query of an application, in which every table is limited to what its user may see

A function or operator of the language is a row of `functions`. SQL is read and written by sqlglot.
"""
