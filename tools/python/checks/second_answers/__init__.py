"""What files and launch lines mean by their program's own parser, beside what --from makes of them."""
