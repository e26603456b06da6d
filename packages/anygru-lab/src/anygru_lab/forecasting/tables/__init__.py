"""Tables as people have them, brought into series: `files` reads the bytes, `table` makes the series, others serve these two."""
