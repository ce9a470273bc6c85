"""An index of the threads of a checkpointer, for lists: one row a thread and agent.

`index.ThreadIndex` keeps the rows right, `reading` reads a thread for one, and tables keep them: in the checkpointer's
own database (`sqlite_table`, `postgres_table`), else in this process (`memory_table`).
"""
