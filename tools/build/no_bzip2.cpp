// Answers of bzip2 in the wheel: it is not there. Boost.Iostreams and libarchive refer to it,
// nothing that Highwater reads needs it, and Debian's libbz2.a cannot become part of a shared
// library: it is not position-independent.
#include <bzlib.h>

extern "C" {

int BZ2_bzCompressInit(bz_stream*, int, int, int) {
  return BZ_CONFIG_ERROR;
}

int BZ2_bzCompress(bz_stream*, int) {
  return BZ_CONFIG_ERROR;
}

int BZ2_bzCompressEnd(bz_stream*) {
  return BZ_CONFIG_ERROR;
}

int BZ2_bzDecompressInit(bz_stream*, int, int) {
  return BZ_CONFIG_ERROR;
}

int BZ2_bzDecompress(bz_stream*) {
  return BZ_CONFIG_ERROR;
}

int BZ2_bzDecompressEnd(bz_stream*) {
  return BZ_CONFIG_ERROR;
}

const char* BZ2_bzlibVersion() {
  return "none";
}
}
