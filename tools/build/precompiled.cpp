// Compiles precompiled.hpp for all rooms.
