// What `check` found, for continuous integration: a JUnit file, which every CI server reads, and
// annotations of GitHub Actions.
//
// JUnit has no specification; the elements are those that the schema of Jenkins' xUnit plugin
// (junit-10.xsd) has in common with what GitLab and GitHub actions read. Annotations: GitHub's
// "Workflow commands for GitHub Actions", setting an error message.
#pragma once

#include <string>

#include "tools/studies/gate/check_run.hpp"

namespace highwater {

/// A test case for each limit of each device, with a failure where it is not kept.
std::string junit_report(const CheckResult& result);

/// "::error title=...::..." for each limit that is not kept; empty if all are.
std::string github_annotations(const CheckResult& result);

}  // namespace highwater
