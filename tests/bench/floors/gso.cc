// Large segments with a vnet header, written to a tap and sent over a packet socket.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#include "common.h"
struct VH {
  uint8_t flags, gso_type;
  uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
static uint8_t g[70000];
static void mk(size_t tot) {
  memcpy(g, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00", 14);
  uint8_t* ip = g + 14;
  memset(ip, 0, 40);
  ip[0] = 0x45;
  ip[2] = (tot - 14) >> 8;
  ip[3] = (tot - 14) & 255;
  ip[8] = 64;
  ip[9] = 6;
  ip[12] = 10;
  ip[15] = 1;
  ip[16] = 10;
  ip[19] = 2;
  uint32_t s = 0;
  for (int i = 0; i < 20; i += 2)
    s += ip[i] << 8 | ip[i + 1];
  while (s >> 16)
    s = (s & 0xffff) + (s >> 16);
  s = ~s;
  ip[10] = s >> 8;
  ip[11] = s;
  uint8_t* t = ip + 20;
  t[1] = 9;
  t[3] = 9;
  t[12] = 0x50;
  t[13] = 0x10;
}
int main() {
  for (size_t tot : {1514ul, 65226ul})
    for (int k : {1, 8, 64}) {
      int fd = socket(AF_PACKET, SOCK_RAW, 0);
      int one = 1;
      if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one)) {
        perror("vnet");
        return 1;
      }
      setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
      int sb = 64 << 20;
      setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sb, sizeof sb);
      sockaddr_ll a{};
      a.sll_family = AF_PACKET;
      a.sll_ifindex = if_nametoindex("vA");
      if (bind(fd, (sockaddr*)&a, sizeof a)) return 2;
      mk(tot);
      VH vh{1, (uint8_t)(tot > 1514 ? 1 : 0), 54, (uint16_t)(tot > 1514 ? 1448 : 0), 34, 16};
      iovec iv[2] = {{&vh, sizeof vh}, {g, tot}};
      std::vector<mmsghdr> m(k);
      for (auto& x : m) {
        memset(&x, 0, sizeof x);
        x.msg_hdr.msg_iov = iv;
        x.msg_hdr.msg_iovlen = 2;
      }
      char nm[96];
      snprintf(nm, 96, "veth sendmmsg vnet_hdr %zuB batch %d bypass", tot, k);
      bench(
          nm, tot > 1514 ? 25600 : 128000,
          [&](uint64_t n) {
            for (uint64_t i = 0; i < n; i += k) {
              int d = 0;
              while (d < k) {
                int r = sendmmsg(fd, m.data() + d, k - d, 0);
                if (r < 0) {
                  if (errno == ENOBUFS) continue;
                  perror("x");
                  exit(3);
                }
                d += r;
              }
            }
          },
          7);
      close(fd);
    }
}
