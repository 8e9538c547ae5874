// The text format for request traces: one item per line, meant to be read and written by hand.
//
// It is the trace format of the conformance vectors, with a few optional additions. Lines that
// start with # and empty lines are ignored. Header lines, before any operation:
//
//     conf STRING       the PYTORCH_CUDA_ALLOC_CONF string, may be empty
//     device BYTES      capacity; without the line it is unlimited
//     fraction X        the per-process memory fraction is set to X
//     addr reuse        freed addresses are handed out again
//     torch RELEASE     the PyTorch release that made the requests, as 2.15
//
// Operations (ID is any word, unique in the trace; STREAM is the raw handle, 0 = default):
//
//     a ID SIZE STREAM [CATEGORY] [@STACK]      allocate
//     f ID                                      free
//     r ID STREAM                               record_stream
//     e STREAM / E events of one / of every stream have completed
//     c / p                                     empty the cache / reset the peak statistics
//     pool_begin POOL [no_split] [use_on_oom] [capture]   POOL is K for {K,0}, or A,B; the options
//                       are those of torch.cuda.MemPool, and those of its first session count;
//                       capture: a CUDA graph captures what is allocated in the session
//     pool_end POOL / pool_release POOL [now]   now: what the pool has cached is returned at once,
//                       not with the next release
//     pool_retire POOL                          its torch.cuda.MemPool is deleted, graphs keep it
//     setconf STRING                            the settings are changed at run time
//     limit BYTES|none                          what the process may reserve from here on
//
// Additions: CATEGORY is a word of to_string(Category); every operation but setconf may end with
// the call stack that made it, @STACK, defined on an earlier line; and these lines:
//
//     step N / phase NAME / op NAME             a training step, phase or operator begins
//     frame K LINE FILE<TAB>FUNCTION            defines frame K
//     stack K FRAME...                          defines stack K by its frames, innermost first
//
// In strings and names, \\ \n \r \t stand for the characters that cannot be written (text_escape).
#pragma once

#include <cstddef>
#include <span>

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// Whether `head`, the first bytes of a file, starts like a text trace.
bool looks_like_text_trace(std::span<const std::byte> head);

/// @throws InputError with line and column. A second free of an allocation is accepted, but a free
/// of an unknown allocation is not.
RequestTrace read_text_trace(ByteSource& source);

/// Writes and commits. Reading it back gives an equal trace, except that streams, pools, strings
/// and stacks that no event uses are gone, and that pools, strings and stacks are numbered in the
/// order of their appearance.
void write_text_trace(const RequestTrace& trace, ByteSink& sink);

}  // namespace highwater
