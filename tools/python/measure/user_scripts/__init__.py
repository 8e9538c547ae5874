"""Scripts as people write them: what `highwater record` finds beside what is told of them."""
