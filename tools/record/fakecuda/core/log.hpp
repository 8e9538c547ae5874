// FAKE_CUDA_LOG: one line per memory call, and per kernel and copy with FAKE_CUDA_LOG_KERNELS=1.
#pragma once

namespace highwater::fakecuda {

/// Appends a line to the log; nothing without one.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

/// After the settings were read again, in a forked process: the log may be another file.
void reopen_log();

/// Whether to log kernels and copies.
bool logs_kernels();

}  // namespace highwater::fakecuda
