// The composite floor: the smallest loop of the shape of a packet path. Sender fiber, copy into a
// buffer, event (transmit done), event (wire), batch, receiver fiber, copy out. No headers, no stack.
//
// composite floor: smallest honest packet path: fiber sender -> copy into skb -> tx ring -> wire
// event -> rx copy/verify -> NAPI batch -> fiber receiver
#include <immintrin.h>
#include <boost/context/fiber.hpp>
#include <random>
#include "common.h"
namespace ctx = boost::context;
static uint16_t ck(const uint8_t* p, size_t n) {
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
  uint64_t s = w[0] + w[1] + w[2] + w[3];
  while (n >= 4) {
    uint32_t q;
    memcpy(&q, p, 4);
    s += q;
    p += 4;
    n -= 4;
  }
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  return ~s;
}
typedef void (*Fn)(void*, uint64_t);
struct E {
  uint64_t t, seq;
  Fn f;
  void* o;
  uint64_t a;
};
struct Q {
  std::vector<E> v;
  uint64_t seq = 0;
  static bool lt(const E& a, const E& b) { return a.t < b.t || (a.t == b.t && a.seq < b.seq); }
  void push(uint64_t t, Fn f, void* o, uint64_t a) {
    E e{t, seq++, f, o, a};
    size_t i = v.size();
    v.push_back(e);
    while (i) {
      size_t p = (i - 1) >> 2;
      if (!lt(e, v[p])) break;
      v[i] = v[p];
      i = p;
    }
    v[i] = e;
  }
  E pop() {
    E r = v[0], e = v.back();
    v.pop_back();
    size_t n = v.size();
    if (!n) return r;
    size_t i = 0;
    for (;;) {
      size_t c = 4 * i + 1;
      if (c >= n) break;
      size_t m = c, en = std::min(c + 4, n);
      for (size_t k = c + 1; k < en; k++)
        if (lt(v[k], v[m])) m = k;
      if (!lt(v[m], e)) break;
      v[i] = v[m];
      i = m;
    }
    v[i] = e;
    return r;
  }
};
static Q q;
static uint64_t now_;
static int level;
static uint8_t pool[512][2048];
static uint8_t user[2048], out[2048];
static uint64_t got, bad, left_;
static ctx::fiber snd, rcv;
static std::vector<int> fifo;
static size_t fh;
static int BATCH = 1;
static std::vector<int> rxring;
static std::vector<int> freel;
static void deliver(void*, uint64_t id) {  // rx softirq at peer
  if (level >= 2 && ck(pool[id] + 34, 1480) == 0x1234) bad++;
  rxring.push_back(id);
  if ((int)rxring.size() >= BATCH) {
    for (int x : rxring)
      fifo.push_back(x);
    rxring.clear();
    rcv = std::move(rcv).resume();
  }
}
static void txdone(void*, uint64_t id) {
  q.push(now_ + 1000, deliver, nullptr, id);
  if (level >= 0) snd = std::move(snd).resume();
}
int main() {
  user[5] = 3;
  for (int lv = 0; lv < 3; lv++)
    for (int bt : {1, 64})
      for (size_t extra : {0ul, 1000ul}) {
        level = lv;
        BATCH = bt;
        got = 0;
        q.v.clear();
        rxring.clear();
        fifo.clear();
        fh = 0;
        freel.clear();
        for (int i = 0; i < 512; i++)
          freel.push_back(i);
        for (size_t i = 0; i < extra; i++)
          q.push(~0ull - 1000 - i, deliver, nullptr, 0);  // far-future timers
        snd = ctx::fiber([](ctx::fiber&& m) {
          for (;;) {
            int id = freel.back();
            freel.pop_back();
            if (level >= 1) memcpy(pool[id], user, 1514);
            if (level >= 2) {
              uint16_t c = ck(pool[id] + 34, 1480);
              memcpy(pool[id] + 40, &c, 2);
            }
            q.push(now_ + 1211, txdone, nullptr, id);
            m = std::move(m).resume();
          }
          return std::move(m);
        });
        rcv = ctx::fiber([](ctx::fiber&& m) {
          for (;;) {
            while (fh < fifo.size()) {
              int id = fifo[fh++];
              if (level >= 1) memcpy(out, pool[id], 1514);
              freel.push_back(id);
              got++;
            }
            fifo.clear();
            fh = 0;
            m = std::move(m).resume();
          }
          return std::move(m);
        });
        now_ = 0;
        snd = std::move(snd).resume();
        char nm[96];
        snprintf(nm, 96, "mini 2-host level%d(%s) rxbatch %d timers %zu", lv,
                 lv == 0   ? "no bytes"
                 : lv == 1 ? "+2 copies"
                           : "+2 copies+2 csums",
                 bt, extra);
        bench(
            nm, 2000000,
            [&](uint64_t n) {
              uint64_t end = got + n;
              while (got < end) {
                E e = q.pop();
                now_ = e.t;
                e.f(e.o, e.a);
              }
            },
            5);
      }
}
