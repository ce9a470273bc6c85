"""An index of the threads of a checkpointer, for lists. It has one row for each thread and agent.

`index.ThreadIndex` keeps the rows up to date, `reading` reads a thread for its row, and tables store the rows: in the
checkpointer's own database (`sqlite_table`, `postgres_table`), or else in this process (`memory_table`).
"""
