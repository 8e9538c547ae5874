// The last act of a Python process that crashes.
#pragma once

namespace highwater::fakecuda {

/// From now on a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first runs `statement`
/// (Python, kept by the caller) in the interpreter of this process, for at most `kCrashSeconds`,
/// and then ends the process as it would have done. Does nothing in a process without an
/// interpreter; a crash within the statement ends the process at once.
void run_python_on_crash(const char* statement);

inline constexpr unsigned kCrashSeconds = 60;

}  // namespace highwater::fakecuda
