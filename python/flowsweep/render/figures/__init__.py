"""The drawing of each figure of the report, in a file of the name of its query.

`draw(context)` gives a `Figure`, the `Markup` of a table, or None where there is nothing to draw;
`heading(context)` gives a heading that depends on the rows.
"""
