// Frames through a tap and through packet sockets on a veth pair, one and many a call. Run it inside
// a network namespace made for it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "common.h"
struct virtio_net_hdr {
  uint8_t flags, gso_type;
  uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
#define VIRTIO_NET_HDR_F_NEEDS_CSUM 1
#define VIRTIO_NET_HDR_GSO_TCPV4 1
#include <liburing.h>
#include <pthread.h>
#include <cerrno>
#include <string>
static void die(const char* s) {
  perror(s);
  exit(1);
}
static int tapopen(const char* n, int flags) {
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (fd < 0) die("tun");
  ifreq r{};
  strcpy(r.ifr_name, n);
  r.ifr_flags = IFF_TAP | IFF_NO_PI | flags;
  if (ioctl(fd, TUNSETIFF, &r) < 0) die("TUNSETIFF");
  return fd;
}
static void up(const char* n) {
  std::string c = std::string("ip link set ") + n + " up mtu 1500; sysctl -qw net.ipv6.conf." + n +
                  ".disable_ipv6=1 2>/dev/null; ip link set " + n + " txqueuelen 10000";
  if (system(c.c_str())) {
  }
}
static int pkt(const char* n, int proto, bool bypass) {
  int fd = socket(AF_PACKET, SOCK_RAW, proto ? htons(proto) : 0);
  if (fd < 0) die("socket");
  sockaddr_ll a{};
  a.sll_family = AF_PACKET;
  a.sll_protocol = proto ? htons(proto) : 0;
  a.sll_ifindex = if_nametoindex(n);
  if (bind(fd, (sockaddr*)&a, sizeof a)) die("bind");
  int v = 1;
  if (bypass && setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &v, sizeof v)) die("bypass");
  int sb = 64 << 20;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sb, sizeof sb);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &sb, sizeof sb);
  return fd;
}
static uint8_t frame[65600 + 64];
static void mkframe() {
  memset(frame, 0, sizeof frame);
  uint8_t* e = frame;
  memcpy(e, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5", 14);
  for (size_t i = 14; i < sizeof frame; i++)
    frame[i] = i;
}
// fit y=a+b*k least squares
static void fit(const char* n, const std::vector<std::pair<double, double>>& p) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0, m = p.size();
  double w;  // weight 1/x^2 so per-call relative error matters equally
  double W = 0;
  for (auto& [x, y] : p) {
    w = 1 / (y * y);
    W += w;
    sx += w * x;
    sy += w * y;
    sxx += w * x * x;
    sxy += w * x * y;
  }
  double b = (W * sxy - sx * sy) / (W * sxx - sx * sx), a = (sy - b * sx) / W;
  double mr = 0;
  for (auto& [x, y] : p)
    mr = std::max(mr, std::abs(a + b * x - y) / y);
  printf("FIT %-40s fixed %.0f ns + %.1f ns/msg (max rel err %.1f%%)\n", n, a, b, mr * 100);
  (void)m;
}
struct S {
  double med, mn, mx, wall;
};
template <class F>
S meas(uint64_t n, F f, int reps = 7) {
  std::vector<double> c, w;
  f(n / 4 + 1);
  for (int i = 0; i < reps; i++) {
    uint64_t a = cpu_ns(), m = mono_ns();
    f(n);
    uint64_t b = cpu_ns(), m2 = mono_ns();
    c.push_back(double(b - a) / n);
    w.push_back(double(m2 - m) / n);
  }
  std::sort(c.begin(), c.end());
  std::sort(w.begin(), w.end());
  return {c[reps / 2], c[0], c[reps - 1], w[reps / 2]};
}
static void rep(const char* n, S s, double bytes = 0) {
  printf("%-58s wall %8.1f cpu %8.1f [%8.1f %8.1f] ns/pkt  %9.0f pps(wall)", n, s.wall, s.med, s.mn,
         s.mx, 1e9 / s.wall);
  if (bytes) printf(" %.2f Gb/s", bytes * 8 / s.wall);
  puts("");
  fflush(stdout);
}
static int sndmm(int fd, mmsghdr* m, int k) {
  int d = 0;
  while (d < k) {
    int r = sendmmsg(fd, m + d, k - d, 0);
    if (r < 0) {
      if (errno == ENOBUFS || errno == EAGAIN) continue;
      die("sendmmsg");
    }
    d += r;
  }
  return d;
}
int main(int argc, char** argv) {
  mkframe();
  std::string what = argv[1];
  char nm[128];
  if (what == "tap") {
    int fd = tapopen("tapw", 0);
    up("tapw");
    rep("tap write() 1514B per syscall (into kernel, dropped)",
        meas(300000,
             [&](uint64_t n) {
               for (uint64_t i = 0; i < n; i++)
                 if (write(fd, frame, 1514) != 1514) die("w");
             }),
        1514);
    rep("tap write() 60B per syscall", meas(300000, [&](uint64_t n) {
          for (uint64_t i = 0; i < n; i++)
            if (write(fd, frame, 60) != 60) die("w");
        }));
    {  // with one AF_PACKET listener draining? no: listener that is never read => cost of
       // clone+drop
      io_uring ring;
      if (io_uring_queue_init(256, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN))
        die("uring");
      io_uring_register_files(&ring, &fd, 1);
      std::vector<std::pair<double, double>> pts;
      for (int k : {1, 2, 4, 8, 16, 32, 64, 128}) {
        snprintf(nm, 128, "tap io_uring write batch %d", k);
        auto s = meas(300000, [&](uint64_t n) {
          for (uint64_t i = 0; i < n; i += k) {
            for (int j = 0; j < k; j++) {
              auto* q = io_uring_get_sqe(&ring);
              io_uring_prep_write(q, 0, frame, 1514, 0);
              q->flags |= IOSQE_FIXED_FILE;
            }
            io_uring_submit_and_wait(&ring, k);
            io_uring_cqe* c;
            unsigned h, g = 0;
            io_uring_for_each_cqe(&ring, h, c) {
              if (c->res != 1514) {
                fprintf(stderr, "res %d\n", c->res);
                exit(1);
              }
              g++;
            }
            io_uring_cq_advance(&ring, g);
          }
        });
        rep(nm, s, 1514);
        pts.push_back({k, s.wall * k});
      }
      fit("tap io_uring write", pts);
      io_uring_queue_exit(&ring);
    }
    {
      int sv[2];  // read path: AF_PACKET sendmmsg into tap device, tap read() drains
      int s = pkt("tapw", 0, true);
      std::vector<mmsghdr> m(256);
      iovec iv{frame, 1514};
      for (auto& x : m) {
        memset(&x, 0, sizeof x);
        x.msg_hdr.msg_iov = &iv;
        x.msg_hdr.msg_iovlen = 1;
      }
      uint8_t buf[2048];
      uint64_t rc = 0, rw = 0;
      auto drain = [&] {
        while (read(fd, buf, 2048) > 0)
          rw++;
      };
      drain();
      // time only the read part
      std::vector<double> c;
      for (int r = 0; r < 9; r++) {
        uint64_t tot = 0, cnt = 0;
        for (int b = 0; b < 600; b++) {
          sndmm(s, m.data(), 256);
          uint64_t a = cpu_ns();
          for (int j = 0; j < 256; j++)
            if (read(fd, buf, 2048) == 1514) cnt++;
          tot += cpu_ns() - a;
        }
        c.push_back(double(tot) / cnt);
      }
      std::sort(c.begin(), c.end());
      S st{c[4], c[0], c[8], c[4]};
      rep("tap read() 1514B per syscall (queue pre-filled 256)", st, 1514);
      c.clear();
      for (int r = 0; r < 9; r++) {
        uint64_t a = cpu_ns();
        for (int b = 0; b < 200000; b++)
          if (read(fd, buf, 2048) > 0) abort();
        c.push_back((cpu_ns() - a) / 200000.);
      }
      std::sort(c.begin(), c.end());
      rep("tap read() EAGAIN", S{c[4], c[0], c[8], c[4]});
      close(s);
      (void)rc;
      (void)sv;
    }
    close(fd);
    fd = tapopen("tapv", IFF_VNET_HDR);
    up("tapv");
    unsigned off = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
    if (ioctl(fd, TUNSETOFFLOAD, off) < 0) die("offload");
    // GSO TCP frame: eth+ip+tcp+payload 65000 total (headers 54)
    uint8_t* g = frame;
    g[12] = 8;
    g[13] = 0;
    auto mk = [&](size_t tot) {
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
    };
    for (size_t tot : {65226ul, 1514ul}) {
      mk(tot);
      virtio_net_hdr vh{};
      vh.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
      vh.gso_type = tot > 1514 ? VIRTIO_NET_HDR_GSO_TCPV4 : 0;
      vh.gso_size = tot > 1514 ? 1448 : 0;
      vh.hdr_len = 54;
      vh.csum_start = 34;
      vh.csum_offset = 16;
      iovec v[2] = {{&vh, sizeof vh}, {g, tot}};
      snprintf(nm, 128, "tap writev vnet_hdr %zuB %s", tot, tot > 1514 ? "GSO" : "csum");
      rep(nm,
          meas(tot > 1514 ? 30000 : 200000,
               [&](uint64_t n) {
                 for (uint64_t i = 0; i < n; i++)
                   if (writev(fd, v, 2) < 0) die("writev gso");
               }),
          tot);
    }
    close(fd);
  }
  if (what == "veth") {
    // tx on vA, nobody listening on vB (dropped in rx path of vB: eth type unknown)
    for (int bp : {0, 1})
      for (int len : {60, 1514}) {
        int fd = pkt("vA", 0, bp);
        std::vector<mmsghdr> m(256);
        iovec iv{frame, (size_t)len};
        for (auto& x : m) {
          memset(&x, 0, sizeof x);
          x.msg_hdr.msg_iov = &iv;
          x.msg_hdr.msg_iovlen = 1;
        }
        snprintf(nm, 128, "veth send() %dB %s", len, bp ? "QDISC_BYPASS" : "qdisc");
        rep(nm,
            meas(200000,
                 [&](uint64_t n) {
                   for (uint64_t i = 0; i < n; i++)
                     while (send(fd, frame, len, 0) < 0)
                       if (errno != ENOBUFS) die("send");
                 }),
            len);
        std::vector<std::pair<double, double>> pts;
        for (int k : {1, 2, 4, 8, 16, 32, 64, 128}) {
          snprintf(nm, 128, "veth sendmmsg %dB batch %d %s", len, k, bp ? "QDISC_BYPASS" : "qdisc");
          auto s = meas(256000, [&](uint64_t n) {
            for (uint64_t i = 0; i < n; i += k)
              sndmm(fd, m.data(), k);
          });
          rep(nm, s, len);
          pts.push_back({k, s.wall * k});
        }
        snprintf(nm, 128, "sendmmsg %dB %s", len, bp ? "bypass" : "qdisc");
        fit(nm, pts);
        close(fd);
      }
  }
  if (what == "uring") {
    int fd = pkt("vA", 0, true);
    io_uring ring;
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN;
    if (io_uring_queue_init_params(256, &ring, &p)) die("uring");
    io_uring_register_files(&ring, &fd, 1);
    std::vector<std::pair<double, double>> pts;
    for (int k : {1, 2, 4, 8, 16, 32, 64, 128}) {
      snprintf(nm, 128, "veth io_uring send 1514B batch %d BYPASS", k);
      auto s = meas(256000, [&](uint64_t n) {
        for (uint64_t i = 0; i < n; i += k) {
          for (int j = 0; j < k; j++) {
            auto* q = io_uring_get_sqe(&ring);
            io_uring_prep_send(q, 0, frame, 1514, 0);
            q->flags |= IOSQE_FIXED_FILE;
          }
          io_uring_submit_and_wait(&ring, k);
          io_uring_cqe* c;
          unsigned h, g = 0;
          io_uring_for_each_cqe(&ring, h, c) {
            if (c->res != 1514 && c->res != -ENOBUFS) {
              fprintf(stderr, "res %d\n", c->res);
              exit(1);
            }
            g++;
          }
          io_uring_cq_advance(&ring, g);
        }
      });
      rep(nm, s, 1514);
      pts.push_back({k, s.wall * k});
    }
    fit("uring send bypass 1514", pts);
    pts.clear();
    for (int k : {1, 8, 64}) {
      snprintf(nm, 128, "io_uring NOP batch %d", k);
      auto s = meas(512000, [&](uint64_t n) {
        for (uint64_t i = 0; i < n; i += k) {
          for (int j = 0; j < k; j++)
            io_uring_prep_nop(io_uring_get_sqe(&ring));
          io_uring_submit_and_wait(&ring, k);
          io_uring_cq_advance(&ring, k);
        }
      });
      rep(nm, s);
      pts.push_back({k, s.wall * k});
    }
    fit("uring nop", pts);
  }
  if (what == "ring") {
    for (int bp : {0, 1})
      for (int k : {1, 8, 32, 128}) {
        int fd = socket(AF_PACKET, SOCK_RAW, 0);
        int v = TPACKET_V2;
        setsockopt(fd, SOL_PACKET, PACKET_VERSION, &v, sizeof v);
        int one = 1;
        if (bp) setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
        tpacket_req q{};
        q.tp_block_size = 1 << 16;
        q.tp_frame_size = 2048;
        q.tp_block_nr = 16;
        q.tp_frame_nr = (q.tp_block_size / 2048) * 16;
        if (setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &q, sizeof q)) die("txring");
        uint8_t* r = (uint8_t*)mmap(0, (size_t)q.tp_block_size * q.tp_block_nr,
                                    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (r == MAP_FAILED) die("mmap");
        sockaddr_ll a{};
        a.sll_family = AF_PACKET;
        a.sll_ifindex = if_nametoindex("vA");
        if (bind(fd, (sockaddr*)&a, sizeof a)) die("bind");
        unsigned cur = 0;
        unsigned nf = q.tp_frame_nr;
        const int off = TPACKET2_HDRLEN - sizeof(sockaddr_ll);
        snprintf(nm, 128, "veth PACKET_MMAP TX_RING v2 1514B batch %d %s", k,
                 bp ? "BYPASS" : "qdisc");
        auto s = meas(256000, [&](uint64_t n) {
          for (uint64_t i = 0; i < n; i += k) {
            for (int j = 0; j < k; j++) {
              auto* h = (tpacket2_hdr*)(r + (size_t)cur * 2048);
              while (__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE) {
                if (h->tp_status & TP_STATUS_WRONG_FORMAT) {
                  fprintf(stderr, "wrong\n");
                  exit(1);
                }
                send(fd, 0, 0, MSG_DONTWAIT);
              }
              memcpy((uint8_t*)h + off, frame, 1514);
              h->tp_len = 1514;
              __atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
              if (++cur == nf) cur = 0;
            }
            if (send(fd, 0, 0, MSG_DONTWAIT) < 0 && errno != ENOBUFS && errno != EAGAIN)
              die("kick");
          }
        });
        rep(nm, s, 1514);
        close(fd);
        munmap(r, (size_t)q.tp_block_size * q.tp_block_nr);
      }
  }
  if (what == "rx") {
    // prefill vB socket via vA, time only receive calls
    int tx = pkt("vA", 0, true), rx = pkt("vB", 0x88b5, false);
    std::vector<mmsghdr> m(256);
    iovec iv{frame, 1514};
    for (auto& x : m) {
      memset(&x, 0, sizeof x);
      x.msg_hdr.msg_iov = &iv;
      x.msg_hdr.msg_iovlen = 1;
    }
    std::vector<mmsghdr> rm(256);
    std::vector<iovec> riv(256);
    std::vector<uint8_t> rb(256 * 2048);
    for (int i = 0; i < 256; i++) {
      riv[i] = {&rb[i * 2048], 2048};
      memset(&rm[i], 0, sizeof rm[i]);
      rm[i].msg_hdr.msg_iov = &riv[i];
      rm[i].msg_hdr.msg_iovlen = 1;
    }
    auto fill = [&](int k) { sndmm(tx, m.data(), k); };
    for (int len : {60, 1514}) {
      iv.iov_len = len;
      std::vector<std::pair<double, double>> pts;
      auto one = [&](const char* nm, auto f) -> S {
        std::vector<double> c;
        for (int r = 0; r < 8; r++) {
          uint64_t tot = 0, cnt = 0;
          for (int b = 0; b < 400; b++) {
            fill(256);
            usleep(0);
            uint64_t a = cpu_ns();
            uint64_t got = 0;
            while (got < 256) {
              int g = f();
              if (g <= 0) break;
              got += g;
            }
            tot += cpu_ns() - a;
            cnt += got;
            while (recv(rx, rb.data(), 2048, MSG_DONTWAIT) > 0)
              ;
          }
          if (r) c.push_back(double(tot) / cnt);
        }
        std::sort(c.begin(), c.end());
        S s{c[3], c[0], c[6], c[3]};
        rep(nm, s, len);
        return s;
      };
      snprintf(nm, 128, "veth recv() %dB per syscall", len);
      one(nm, [&] { return recv(rx, rb.data(), 2048, MSG_DONTWAIT) > 0 ? 1 : 0; });
      for (int k : {1, 2, 4, 8, 16, 32, 64, 128}) {
        snprintf(nm, 128, "veth recvmmsg %dB batch %d", len, k);
        auto s = one(nm, [&] { return recvmmsg(rx, rm.data(), k, MSG_DONTWAIT, 0); });
        pts.push_back({k, s.med * k});
      }
      snprintf(nm, 128, "recvmmsg %dB", len);
      fit(nm, pts);
    }
    // send with listener attached (clone+enqueue cost)
    for (int k : {1, 16, 64}) {
      iv.iov_len = 1514;
      snprintf(nm, 128, "veth sendmmsg+recvmmsg loop 1514B batch %d one thread", k);
      rep(nm,
          meas(128000,
               [&](uint64_t n) {
                 for (uint64_t i = 0; i < n; i += k) {
                   sndmm(tx, m.data(), k);
                   int g = 0;
                   while (g < k) {
                     int x = recvmmsg(rx, rm.data(), k - g, MSG_DONTWAIT, 0);
                     if (x > 0)
                       g += x;
                     else if (errno != EAGAIN)
                       die("rx");
                     else
                       sched_yield();
                   }
                 }
               }),
          1514);
    }
  }
}
