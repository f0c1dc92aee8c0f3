// Copies, checksums, allocation, clocks, and what it costs to write a capture file.
#include <fcntl.h>
#include <immintrin.h>
#include <pcap/pcap.h>
#include <sys/uio.h>
#include <unistd.h>
#include "common.h"
static uint16_t ck_scalar16(const uint8_t* p, size_t n) {
  uint32_t s = 0;
  while (n > 1) {
    uint16_t w;
    memcpy(&w, p, 2);
    s += w;
    p += 2;
    n -= 2;
    asm volatile("" : "+r"(s));
  }
  if (n) s += *p;
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
__attribute__((optimize("no-tree-vectorize"))) static uint16_t ck_scalar32(const uint8_t* p,
                                                                           size_t n) {
  uint64_t s = 0;
  while (n >= 32) {
    uint32_t w[8];
    memcpy(w, p, 32);
    s += (uint64_t)w[0] + w[1];
    s += (uint64_t)w[2] + w[3];
    s += (uint64_t)w[4] + w[5];
    s += (uint64_t)w[6] + w[7];
    p += 32;
    n -= 32;
  }
  while (n >= 4) {
    uint32_t w;
    memcpy(&w, p, 4);
    s += w;
    p += 4;
    n -= 4;
  }
  while (n > 1) {
    uint16_t w;
    memcpy(&w, p, 2);
    s += w;
    p += 2;
    n -= 2;
  }
  if (n) s += *p;
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
static uint16_t ck_adc(const uint8_t* p, size_t n) {
  uint64_t s = 0;
  while (n >= 64) {
    asm("addq 0(%1),%0\n adcq 8(%1),%0\n adcq 16(%1),%0\n adcq 24(%1),%0\n adcq 32(%1),%0\n adcq "
        "40(%1),%0\n adcq 48(%1),%0\n adcq 56(%1),%0\n adcq $0,%0"
        : "+r"(s)
        : "r"(p)
        : "memory", "cc");
    p += 64;
    n -= 64;
  }
  while (n >= 8) {
    asm("addq 0(%1),%0\n adcq $0,%0" : "+r"(s) : "r"(p) : "memory", "cc");
    p += 8;
    n -= 8;
  }
  unsigned __int128 t = s;
  uint64_t tail = 0;
  memcpy(&tail, p, n);
  t += tail;
  s = (uint64_t)t + (uint64_t)(t >> 64);
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
static uint16_t ck_avx2(const uint8_t* p, size_t n) {
  __m256i a = _mm256_setzero_si256(), b = a, z = a;
  while (n >= 64) {
    __m256i x = _mm256_loadu_si256((const __m256i*)p),
            y = _mm256_loadu_si256((const __m256i*)(p + 32));
    a = _mm256_add_epi64(
        a, _mm256_add_epi64(_mm256_unpacklo_epi32(x, z), _mm256_unpackhi_epi32(x, z)));
    b = _mm256_add_epi64(
        b, _mm256_add_epi64(_mm256_unpacklo_epi32(y, z), _mm256_unpackhi_epi32(y, z)));
    p += 64;
    n -= 64;
  }
  a = _mm256_add_epi64(a, b);
  uint64_t w[4];
  _mm256_storeu_si256((__m256i*)w, a);
  unsigned __int128 t = (unsigned __int128)w[0] + w[1] + w[2] + w[3];
  while (n >= 8) {
    uint64_t q;
    memcpy(&q, p, 8);
    t += q;
    p += 8;
    n -= 8;
  }
  uint64_t tail = 0;
  memcpy(&tail, p, n);
  t += tail;
  uint64_t s = (uint64_t)t + (uint64_t)(t >> 64);
  if (s < (uint64_t)t) s++;
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
static uint16_t ck_avx512(const uint8_t* p, size_t n) {
  __m512i a = _mm512_setzero_si512(), z = a;
  while (n >= 64) {
    __m512i x = _mm512_loadu_si512(p);
    a = _mm512_add_epi64(
        a, _mm512_add_epi64(_mm512_unpacklo_epi32(x, z), _mm512_unpackhi_epi32(x, z)));
    p += 64;
    n -= 64;
  }
  unsigned __int128 t = (unsigned __int128)_mm512_reduce_add_epi64(a);
  while (n >= 8) {
    uint64_t q;
    memcpy(&q, p, 8);
    t += q;
    p += 8;
    n -= 8;
  }
  uint64_t tail = 0;
  memcpy(&tail, p, n);
  t += tail;
  uint64_t s = (uint64_t)t + (uint64_t)(t >> 64);
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
int main() {
  std::vector<uint8_t> big(256 << 20), d(256 << 20);
  for (size_t i = 0; i < big.size(); i++)
    big[i] = i * 131 + (i >> 8);
  uint8_t* b = big.data();
  memset(d.data(), 1, d.size());
  printf("ck check %04x %04x %04x %04x %04x\n", ck_scalar16(b, 1500), ck_scalar32(b, 1500),
         ck_adc(b, 1500), ck_avx2(b, 1500), ck_avx512(b, 1500));
  volatile uint32_t acc = 0;
#define CK(f)                                       \
  bench(#f " 1500B hot", 1000000, [&](uint64_t n) { \
    uint32_t a = 0;                                 \
    for (uint64_t i = 0; i < n; i++) {              \
      a += f(b + (i & 7) * 1504, 1500);             \
    }                                               \
    acc += a;                                       \
  });
  CK(ck_scalar16)
  CK(ck_scalar32) CK(ck_adc) CK(ck_avx2)
      CK(ck_avx512) for (size_t sz : {64ul, 1500ul, 9000ul, 65536ul}) {
    char nm[64];
    snprintf(nm, 64, "memcpy %zuB hot", sz);
    bench(nm, sz > 10000 ? 100000 : 2000000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        memcpy(d.data(), b, sz);
        sink(d.data());
      }
    });
    snprintf(nm, 64, "memcpy %zuB cold (256MB stream)", sz);
    size_t st = (sz + 63) / 64 * 64;
    size_t slots = (256ul << 20) / st;
    uint64_t k = 0;
    bench(nm, std::min<uint64_t>(slots * 2, 1000000), [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        size_t o = (k++ % slots) * st;
        memcpy(d.data() + o, b + o, sz);
        sink(d.data());
      }
    });
  }
  // L2-ish working set: 512 buffers of 2048
  {
    uint64_t k = 0;
    bench("memcpy 1500B ring of 256 2K bufs (L2)", 2000000, [&](uint64_t n) {
      for (uint64_t i = 0; i < n; i++) {
        size_t o = (k++ & 255) * 2048;
        memcpy(d.data() + o, b + o, 1500);
        sink(d.data());
      }
    });
  }
  bench("malloc(2048)+free", 5000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      void* p = malloc(2048);
      sink(p);
      free(p);
    }
  });
  bench("clock_gettime(MONOTONIC)", 5000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      timespec t;
      clock_gettime(CLOCK_MONOTONIC, &t);
      sink(&t);
    }
  });
  bench("rdtsc", 5000000, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      uint64_t t = __builtin_ia32_rdtsc();
      sink((void*)t);
    }
  });
  // pcap
  const char* fn = "/dev/shm/pa.pcap";
  for (int buf : {0, 1 << 20})
    for (int len : {60, 1514})
      for (const char* path : {"/dev/shm/pa.pcap", "/dev/null"}) {
        char nm[96];
        snprintf(nm, 96, "libpcap pcap_dump %dB stdio buf %s -> %s", len,
                 buf ? "1MiB" : "default4K", path[5] == 'n' ? "null" : "tmpfs");
        pcap_t* p =
            pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
        std::vector<char> vb(buf + 1);
        bench(
            nm, 300000,
            [&](uint64_t n) {
              FILE* f = fopen(path, "w");
              if (buf) setvbuf(f, vb.data(), _IOFBF, buf);
              pcap_dumper_t* dp = pcap_dump_fopen(p, f);
              pcap_pkthdr h{};
              h.caplen = h.len = len;
              for (uint64_t i = 0; i < n; i++) {
                h.ts.tv_sec = i >> 20;
                h.ts.tv_usec = i & 0xfffff;
                pcap_dump((u_char*)dp, &h, b + (i & 255) * 2048);
              }
              pcap_dump_close(dp);
            },
            5);
        pcap_close(p);
      }
  struct PH {
    uint32_t s, u, c, l;
  };
  for (int len : {60, 1514})
    for (const char* path : {"/dev/shm/pa.pcap", "/dev/null"}) {
      char nm[96];
      snprintf(nm, 96, "own 1MiB buffer + write() %dB -> %s", len,
               path[5] == 'n' ? "null" : "tmpfs");
      std::vector<uint8_t> ob(1 << 20);
      bench(
          nm, 300000,
          [&](uint64_t n) {
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            size_t o = 0;
            for (uint64_t i = 0; i < n; i++) {
              if (o + 16 + len > ob.size()) {
                if (write(fd, ob.data(), o) < 0) abort();
                o = 0;
              }
              PH h{uint32_t(i >> 20), uint32_t(i & 0xfffff), uint32_t(len), uint32_t(len)};
              memcpy(&ob[o], &h, 16);
              memcpy(&ob[o + 16], b + (i & 255) * 2048, len);
              o += 16 + len;
            }
            if (write(fd, ob.data(), o) < 0) abort();
            close(fd);
          },
          5);
      snprintf(nm, 96, "writev(hdr,frame) per packet %dB -> %s", len,
               path[5] == 'n' ? "null" : "tmpfs");
      bench(
          nm, 100000,
          [&](uint64_t n) {
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            for (uint64_t i = 0; i < n; i++) {
              PH h{uint32_t(i >> 20), uint32_t(i & 0xfffff), uint32_t(len), uint32_t(len)};
              iovec v[2] = {{&h, 16}, {b + (i & 255) * 2048, (size_t)len}};
              if (writev(fd, v, 2) < 0) abort();
            }
            close(fd);
          },
          5);
      snprintf(nm, 96, "writev 256-packet gather (no copy) %dB -> %s", len,
               path[5] == 'n' ? "null" : "tmpfs");
      bench(
          nm, 300000,
          [&](uint64_t n) {
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            PH h[256];
            iovec v[512];
            int c = 0;
            for (uint64_t i = 0; i < n; i++) {
              h[c] = {uint32_t(i >> 20), uint32_t(i & 0xfffff), uint32_t(len), uint32_t(len)};
              v[2 * c] = {&h[c], 16};
              v[2 * c + 1] = {b + (i & 255) * 2048, (size_t)len};
              if (++c == 256) {
                if (writev(fd, v, 512) < 0) abort();
                c = 0;
              }
            }
            close(fd);
          },
          5);
    }
  unlink(fn);
}
