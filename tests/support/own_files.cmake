# ctest reads this before it starts a test: none sees the defaults or programs of whoever runs it.
set(ENV{HIGHWATER_CONFIG} "")
