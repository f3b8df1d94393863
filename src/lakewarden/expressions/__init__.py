"""The expressions of row filters and column masks: a small part of SQL that engines agree on.

    parser     text to nodes; rejects everything that is not in the language
    checker    the types of nodes, and what an engine does not support
    renderer   nodes to the SQL of one engine, with the values of one user
    engines    the engines, and what each does not support
    lookup     tables of values for comparisons in expressions
    masks      the replacement that a mask makes, and the strictest of several masks
    query      a query of an application, with every table limited to what its user may see

A function or operator of the language is a row of `functions`. SQL is read and written by sqlglot.
"""
