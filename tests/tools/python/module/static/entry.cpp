#include "uses.hpp"

extern "C" __attribute__((visibility("default"))) int entry(const char* text) {
  return uses(text);
}
