// The releases that most recordings were made with, whose rules the tests of the generator check.
#pragma once

#include "workloads/plan/versions.hpp"

namespace highwater::test {

inline const Versions kRecordedReleases{.torch = "2.6", .transformers = "5.12"};

}  // namespace highwater::test
