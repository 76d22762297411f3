"""Draws each figure of the report, in a file named after its query.

`draw(context)` returns a `Figure`, the `Markup` of a table, or None if there is nothing to draw;
`heading(context)` returns a heading that depends on the rows.
"""
