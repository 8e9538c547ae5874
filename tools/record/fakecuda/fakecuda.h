/* What the fake CUDA runtime offers beside CUDA: exported by libcudart of both majors, for Python's ctypes.
 *
 * Kernels do nothing, so that a value read from the device is 0 unless the host copied it there since
 * the last launch. An answer says what the next read of its size delivers instead. */
#ifndef HIGHWATER_FAKECUDA_H
#define HIGHWATER_FAKECUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The next copy of n bytes from the device to the host delivers these bytes; answers of one size are used
 * in the order in which they were given. */
void fakecuda_answer(const void* bytes, size_t n);

/* Drops the answers that were not used. */
void fakecuda_forget_answers(void);

/* Launches so far: kernels of the runtime and of the driver, computations and collectives of the libraries. */
unsigned long long fakecuda_launches(void);

/* Copies of at most 64 bytes from the device to the host that delivered zeros because nobody knows the
 * bytes: each may have steered the program otherwise than on a real device. */
unsigned long long fakecuda_reads(void);

/* Calls of functions that have no model and only report success: lines "name count", sorted by name.
 * Writes at most n bytes including the final zero into text (which may be null if n is 0) and returns
 * the length of the whole, without the final zero. */
size_t fakecuda_unmodelled(char* text, size_t n);

/* Exported by libcudnn: what became of cuDNN's plans, and of the real library that was asked, as lines
 * "key value". Writes and returns as fakecuda_unmodelled() does. */
size_t fakecuda_cudnn(char* text, size_t n);

/* Where a plan of cuDNN's that was run had its workspace, and its first operation (cudnnBackendDescriptorType_t,
 * 0 if unknown). */
typedef struct fakecuda_workspace {
  unsigned long long address;
  int operation;
} fakecuda_workspace;

/* Exported by libcudnn: the workspaces of the plans that were run, in this order. Writes at most n of them into
 * `all` (which may be null if n is 0) and returns how many there are. */
size_t fakecuda_cudnn_workspaces(fakecuda_workspace* all, size_t n);

/* The next ncclCommSplit of this thread makes a communicator of `size` ranks in which this process is `rank`:
 * its own arguments do not tell how many ranks share a colour. Size 0 takes an announcement back. */
void fakecuda_announce_split(int rank, int size);

/* Takes the FAKE_CUDA_... variables as they are now: a fork may simulate another GPU than its parent, which has
 * only asked how many there are. */
void fakecuda_read_environment(void);

/* From now on a fatal signal runs this Python statement, which the caller keeps, in the interpreter of this
 * process before it ends the process: what was recorded is saved from a crash. */
void fakecuda_on_crash(const char* statement);

#ifdef __cplusplus
}
#endif

#endif
